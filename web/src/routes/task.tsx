import { getRouteApi } from "@tanstack/react-router";
import { TaskScreen } from "~/features/task/task-screen";

const route = getRouteApi("/tasks/$taskId");

export function TaskRoute() {
  const { taskId } = route.useParams();
  const { session, view } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <TaskScreen
      // Another task is another screen: nothing half-typed or half-open is carried over.
      key={taskId}
      taskId={taskId}
      sessionId={session}
      view={view ?? "chat"}
      onSession={(next) => void navigate({ search: (old) => ({ ...old, session: next }), replace: true })}
      onView={(next) => void navigate({ search: (old) => ({ ...old, view: next }), replace: true })}
    />
  );
}
