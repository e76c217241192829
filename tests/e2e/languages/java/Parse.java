import com.sun.source.util.JavacTask;
import java.nio.file.Path;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;

/** Tells the faults of grammar in Java files; the libraries that they use need not be there. */
final class Parse {
  public static void main(String[] files) throws Exception {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var faults = new DiagnosticCollector<JavaFileObject>();
    try (var manager = compiler.getStandardFileManager(faults, null, null)) {
      var sources = manager.getJavaFileObjectsFromPaths(Stream.of(files).map(Path::of).toList());
      ((JavacTask) compiler.getTask(null, manager, faults, null, null, sources)).parse();
    }
    faults.getDiagnostics().forEach(System.err::println);
    if (faults.getDiagnostics().stream().anyMatch(d -> d.getKind() == Diagnostic.Kind.ERROR)) {
      System.exit(1);
    }
  }
}
