import io.temporal.activity.Activity;
import io.temporal.activity.ActivityInterface;
import io.temporal.activity.ActivityMethod;
import io.temporal.client.ActivityWorkerShutdownException;
import io.temporal.failure.ApplicationFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;

@ActivityInterface
public interface Jobs {
  record Input(int rows, String to) {}

  /** Copies rows, a few a second, and goes on after the last that was copied. */
  @ActivityMethod(name = "Copy")
  Map<String, Object> copy(Input input) throws IOException, InterruptedException;

  final class Implementation implements Jobs {
    @Override
    public Map<String, Object> copy(Input input) throws IOException, InterruptedException {
      if (input.rows() <= 0) {
        throw ApplicationFailure.newNonRetryableFailure(
            "rows: must be above 0, not " + input.rows(), "InvalidInput");
      }
      Handed handed = Handed.current();
      int from = handed.checkpoint == null ? 0 : handed.checkpoint;
      int row = from;
      while (row < input.rows()) {
        Files.writeString(
            Path.of(input.to()), row + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND); // the work
        row++;
        try {
          // What is done. It throws once the job is asked to stop; what was heartbeat counts then.
          Activity.getExecutionContext().heartbeat(row);
        } catch (ActivityWorkerShutdownException stopping) {
          throw ApplicationFailure.newFailure("the worker stops", "WorkerStopping", Map.of(), row);
        }
        Thread.sleep(100);
      }
      return Map.of("key", handed.key, "from", from);
    }
  }
}
