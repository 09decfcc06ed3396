// What can be done with a session, and what it means for the page.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { Session, TaskDetail } from "~/api/types";
import { errorLine } from "~/i18n/error-text";
import { showToast } from "~/ui/toast";

/** Whether an agent may be running for the session. */
export function isLive(session: Session): boolean {
  return ["STARTING", "RUNNING", "WAITING_FOR_INPUT", "IDLE"].includes(session.state);
}

/** Whether a turn is under way, so that a new prompt has to wait. */
export function isBusy(session: Session): boolean {
  return ["STARTING", "RUNNING", "WAITING_FOR_INPUT"].includes(session.state);
}

/** The session that becomes primary when `deleted` goes: the newest of the others. The server decides the same. */
export function primaryAfterDeletion(sessions: readonly Session[], deleted: Session): Session | undefined {
  const rest = sessions.filter((session) => session.id !== deleted.id);
  const newest = [...rest].sort(
    (a, b) =>
      b.updated_at.localeCompare(a.updated_at) ||
      b.started_at.localeCompare(a.started_at) ||
      (a.id < b.id ? 1 : -1),
  )[0];
  return rest.find((session) => session.is_primary) ?? newest;
}

function useFailureToast() {
  const { t } = useTranslation();
  return (error: unknown) => showToast(errorLine(t, error), "error");
}

/** Puts a session the server answered with into the task, without waiting for the live event. */
function useTakeSession(taskId: string) {
  const client = useQueryClient();
  return (session: Session) => {
    client.setQueryData<TaskDetail>(keys.task(taskId), (detail) => {
      if (!detail) return detail;
      const known = detail.sessions.some(({ id }) => id === session.id);
      const sessions = known
        ? detail.sessions.map((old) => (old.id === session.id ? session : old))
        : [...detail.sessions, session];
      return { ...detail, sessions };
    });
    void client.invalidateQueries({ queryKey: keys.task(taskId), exact: true });
  };
}

export function useNewSession(taskId: string, onMade: (sessionId: string) => void) {
  const take = useTakeSession(taskId);
  return useMutation({
    mutationFn: (agent: { agentId?: string }) =>
      unwrap(
        api.POST("/api/v1/tasks/{id}/sessions", {
          params: { path: { id: taskId } },
          body: agent.agentId ? { agent_profile_id: agent.agentId } : {},
        }),
      ),
    onSuccess: (session) => {
      take(session);
      onMade(session.id);
    },
    onError: useFailureToast(),
  });
}

export function useSendPrompt(taskId: string, sessionId: string) {
  const take = useTakeSession(taskId);
  return useMutation({
    mutationFn: (text: string) =>
      unwrap(
        api.POST("/api/v1/sessions/{id}/prompt", { params: { path: { id: sessionId } }, body: { text } }),
      ),
    onSuccess: take,
    onError: useFailureToast(),
  });
}

/** Ends the turn; the agent goes on running and waits for the next prompt. */
export function useCancelTurn(taskId: string, sessionId: string) {
  const take = useTakeSession(taskId);
  return useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/sessions/{id}/cancel", { params: { path: { id: sessionId } } })),
    onSuccess: take,
    onError: useFailureToast(),
  });
}

/** Ends the agent; a later prompt starts it again. */
export function useStopSession(taskId: string) {
  const take = useTakeSession(taskId);
  return useMutation({
    mutationFn: (sessionId: string) =>
      unwrap(api.POST("/api/v1/sessions/{id}/stop", { params: { path: { id: sessionId } } })),
    onSuccess: take,
    onError: useFailureToast(),
  });
}

export function useAnswerPermission(taskId: string, sessionId: string) {
  const take = useTakeSession(taskId);
  return useMutation({
    mutationFn: ({ requestId, optionId }: { requestId: string; optionId: string | null }) =>
      unwrap(
        api.POST("/api/v1/sessions/{id}/permissions/{request_id}", {
          params: { path: { id: sessionId, request_id: requestId } },
          body: { option_id: optionId },
        }),
      ),
    onSuccess: take,
    onError: useFailureToast(),
  });
}
