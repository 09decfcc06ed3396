// One conversation, from the oldest loaded message to the composer. It stays at the end while new text
// comes, unless the reader has scrolled up.
import { ArrowDown } from "lucide-react";
import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Message, Session } from "~/api/types";
import { Button } from "~/ui/button";
import { ErrorNotice, Loading, Spinner } from "~/ui/feedback";
import { Composer } from "./composer";
import { conversations, useConversation } from "./conversations";
import { MessageView } from "./message-view";
import { isBusy } from "./use-session";

/** How near to the end counts as being at the end, in pixels. */
const NEAR = 48;

interface ConversationViewProps {
  session: Session;
  /** Whether the task is closed, so that nothing more can be said. */
  closed: boolean;
}

export function ConversationView({ session, closed }: ConversationViewProps) {
  const { t } = useTranslation();
  const conversation = useConversation(session.id);
  const { entries, hasOlder, status } = conversation;
  const scroll = useStickToEnd(entries);
  const error = conversations.error(session.id);

  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="relative min-h-0 grow">
        <section
          ref={scroll.frame}
          onScroll={scroll.onScroll}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          tabIndex={0}
          aria-label={t("session:conversation")}
          className="h-full overflow-y-auto px-3 py-3 md:px-4"
        >
          {status === "loading" && <Loading />}
          {error && <ErrorNotice error={error} onRetry={() => void conversations.reload(session.id)} />}
          {hasOlder && (
            <div className="flex justify-center pb-3">
              <Button
                disabled={conversations.isLoadingOlder(session.id)}
                onClick={() => void conversations.loadOlder(session.id)}
              >
                {t("session:older")}
              </Button>
            </div>
          )}
          <ol className="mx-auto flex max-w-3xl flex-col gap-3">
            {entries.map(({ message }) => (
              <Row key={message.id} message={message} session={session.id} task={session.task_id} />
            ))}
          </ol>
          {status === "ready" && entries.length === 0 && (
            <p className="py-10 text-center text-muted">{t("session:noMessages")}</p>
          )}
          {isBusy(session) && session.state !== "WAITING_FOR_INPUT" && (
            <div className="mx-auto max-w-3xl pt-3">
              <Spinner label={t(`session:state.${session.state}`)} />
            </div>
          )}
          {session.error_message && (
            <p
              role="alert"
              className="mx-auto mt-3 max-w-3xl rounded-md border border-fail bg-fail-soft px-3 py-2 [overflow-wrap:anywhere]"
            >
              {session.error_message}
            </p>
          )}
        </section>
        {scroll.away && (
          <div className="absolute inset-x-0 bottom-2 flex justify-center">
            <Button
              icon={<ArrowDown size={14} aria-hidden />}
              className="shadow-overlay"
              onClick={scroll.toEnd}
            >
              {t("session:toEnd")}
            </Button>
          </div>
        )}
      </div>
      {!closed && <Composer session={session} />}
    </div>
  );
}

interface RowProps {
  message: Message;
  session: string;
  task: string;
}

/** A message is drawn anew only when it changed, however fast another one streams. */
const Row = memo(function Row({ message, session, task }: RowProps) {
  return (
    <li>
      <MessageView message={message} sessionId={session} taskId={task} />
    </li>
  );
});

function useStickToEnd(content: unknown) {
  const frame = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);

  const toEnd = useCallback(() => {
    const element = frame.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);
  const onScroll = () => {
    const element = frame.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    setAway(!atEnd.current);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs after each change of the content
  useLayoutEffect(() => {
    if (atEnd.current) toEnd();
  }, [content]);
  useEffect(() => {
    // A keyboard that comes up, or a folded part that opens, changes the height without new content.
    const element = frame.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(() => atEnd.current && toEnd());
    observer.observe(element);
    return () => observer.disconnect();
  }, [toEnd]);
  return { frame, away, toEnd, onScroll };
}
