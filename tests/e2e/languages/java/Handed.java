import io.temporal.api.common.v1.Payload;
import io.temporal.common.converter.DefaultDataConverter;
import io.temporal.common.interceptors.ActivityInboundCallsInterceptor;
import io.temporal.common.interceptors.ActivityInboundCallsInterceptorBase;
import io.temporal.common.interceptors.WorkerInterceptorBase;

/** What a request hands to each try of a job. */
public final class Handed {
  public String firstRun;
  public String key;
  public Integer checkpoint; // of the type that your job heartbeats

  private static final ThreadLocal<Handed> CURRENT = ThreadLocal.withInitial(Handed::new);

  /** What was handed to the job that calls it. */
  public static Handed current() {
    return CURRENT.get();
  }

  public static final class Reader extends WorkerInterceptorBase {
    @Override
    public ActivityInboundCallsInterceptor interceptActivity(ActivityInboundCallsInterceptor next) {
      return new ActivityInboundCallsInterceptorBase(next) {
        @Override
        public ActivityOutput execute(ActivityInput input) {
          Payload payload = input.getHeader().getValues().get("sluice-handed");
          CURRENT.set(
              payload == null
                  ? new Handed()
                  : DefaultDataConverter.newDefaultInstance().fromPayload(payload, Handed.class, Handed.class));
          return super.execute(input);
        }
      };
    }
  }
}
