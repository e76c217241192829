import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowClientOptions;
import io.temporal.client.WorkflowFailedException;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowStub;
import io.temporal.failure.ApplicationFailure;
import io.temporal.serviceclient.WorkflowServiceStubs;
import io.temporal.serviceclient.WorkflowServiceStubsOptions;
import io.temporal.worker.Worker;
import io.temporal.worker.WorkerFactory;
import io.temporal.worker.WorkerFactoryOptions;
import io.temporal.worker.WorkerOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;

public final class Main {
  public static void main(String[] args) {
    WorkflowServiceStubs service =
        WorkflowServiceStubs.newServiceStubs(
            WorkflowServiceStubsOptions.newBuilder().setTarget(System.getenv("TEMPORAL_ADDRESS")).build());
    WorkflowClient client =
        WorkflowClient.newInstance(
            service, WorkflowClientOptions.newBuilder().setNamespace(System.getenv("TEMPORAL_NAMESPACE")).build());

    WorkerFactory factory =
        WorkerFactory.newInstance(
            client, WorkerFactoryOptions.newBuilder().setWorkerInterceptors(new Handed.Reader()).build());
    Worker worker =
        factory.newWorker(
            "java",
            WorkerOptions.newBuilder().setMaxHeartbeatThrottleInterval(Duration.ofSeconds(1)).build());
    worker.registerActivitiesImplementations(new Jobs.Implementation());
    factory.start();
    Runtime.getRuntime().addShutdownHook(new Thread(factory::shutdownNow));

    Map<String, Object> job =
        Map.of(
            "id", "copy", "activity", "Copy", "taskQueue", "java", "heartbeat", "5s",
            "input", Map.of("rows", 100, "to", "rows"));
    WorkflowStub request =
        client.newUntypedWorkflowStub(
            "Request",
            WorkflowOptions.newBuilder().setWorkflowId("request/copy").setTaskQueue("sluice").build());
    request.start(Map.of("jobs", List.of(job)));
    request.update("suspend", Map.class, Map.of("reason", "deploy", "grace", "30s"));
    System.out.println(request.query("status", Map.class));
    request.update("resume", Map.class, Map.of());
    try {
      System.out.println(request.getResult(Map.class));
    } catch (WorkflowFailedException failed) {
      if (failed.getCause() instanceof ApplicationFailure cause) {
        System.out.println(cause.getType() + " " + cause.getOriginalMessage()); // RequestFailed, Expired, InvalidInput
      }
    }
  }
}
