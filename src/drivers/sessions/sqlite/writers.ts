import type { SqliteDatabase } from './database.ts'
import { threadWriter, type ThreadWriter } from './thread/thread-writer.ts'
import { localWriter, type LocalWriterOptions, type Writer } from './writer.ts'

export interface WritersOptions extends LocalWriterOptions {
  /** Writes after which a thread takes over. */
  readonly threadAfter: number
}

export interface Writers extends Writer {
  /** Another value as soon as somebody else has committed. */
  othersVersion(db: SqliteDatabase): number | string
}

/**
 * The first writes are made here; who writes more than that gets a thread for it, so that nobody waits for the database who asks for
 * something else. One of the two writes at a time: the thread takes over when nothing is left to write here. Should it end, the next write
 * is made here again.
 */
export function writers(options: WritersOptions): Writers {
  const { path, lockTimeoutMs, context, threadAfter } = options
  const local = localWriter(options)
  let left = threadAfter
  let thread: ThreadWriter | undefined
  let isThreaded = false

  function withoutThread(): void {
    thread = undefined
    isThreaded = false
    left = Infinity
    context.cache.clear()
  }

  /** Nothing where no thread may be started: a process with restricted rights, a program that was put into one file. */
  function start(): ThreadWriter | undefined {
    try {
      return threadWriter({ path, lockTimeoutMs, context, onEnd: withoutThread })
    } catch {
      withoutThread()
      return undefined
    }
  }

  function current(): Writer {
    if (!isThreaded && --left < 0) {
      thread ??= start()
      isThreaded = thread !== undefined && (threadAfter === 0 || thread.isReady()) && local.isIdle()
      if (isThreaded) context.cache.recheck()
    }
    return thread !== undefined && isThreaded ? thread : local
  }

  return {
    run: (name, args, durability) => current().run(name, args, durability),
    indexWords: () => current().indexWords(),
    forgetLog: () => current().forgetLog(),
    othersVersion: (db) => (thread !== undefined && isThreaded ? thread.othersVersion(db) : db.othersVersion()),
    async close() {
      const last = thread
      withoutThread()
      try {
        await last?.close()
      } finally {
        await local.close()
      }
    },
  }
}
