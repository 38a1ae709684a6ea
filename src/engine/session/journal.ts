import type { RequestSent } from '../../core/records.ts'
import type { PrepareContext } from '../prepare/context.ts'
import { archivable, isNews, logRequest, noteArchived, unwrittenOf, type Archivable, type Decided } from './archive.ts'
import type { Unwritten } from './branch/open-turns.ts'
import { appendTo } from './restore.ts'

/** What the log needs about one request. It is written once, however many ask. */
export interface Journal {
  write(): Promise<void>
  /** The same with what is said about a request that leaves; apart from it where it is written already. */
  writeWith(sent: readonly RequestSent[]): Promise<void>
  /** Its records, to be written with the answer; undefined where they are written, or something in them must be durable before the request leaves. */
  later(): Unwritten | undefined
}

export function journalOf(context: PrepareContext, decided: Decided): Journal {
  let written: Promise<void> | undefined
  return {
    write: () => (written ??= logRequest(context, decided)),
    async writeWith(sent) {
      if (written === undefined) return (written = logRequest(context, decided, sent))
      await written
      if (sent.length > 0) await appendTo(context.deps, context.branch, sent)
    },
    later: () => (written !== undefined || isNews(context, decided) ? undefined : unwritten(context, decided)),
  }
}

function unwritten(context: PrepareContext, decided: Decided): Unwritten {
  let items: readonly Archivable[] = []
  return {
    async records() {
      items = await archivable(context)
      return unwrittenOf(context, decided, items)
    },
    written: () => noteArchived(context, items),
  }
}
