import { PlimsollError } from '../../../core/errors.ts'
import type { SqliteDatabase } from './database.ts'
import { threadWriter, type ThreadWriter } from './thread/thread-writer.ts'
import { localWriter, type LocalWriterOptions, type Writer } from './writer.ts'

export interface WritersOptions extends LocalWriterOptions {
  /** Writes after which a thread takes over. */
  readonly threadAfter: number
  /** The thread has answered, so something may be committed, and whoever waited for it was told. */
  readonly onThreadAnswer: () => void
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
  const { path, lockTimeoutMs, context, threadAfter, onThreadAnswer } = options
  const local = localWriter(options)
  let left = threadAfter
  let thread: ThreadWriter | undefined
  let isThreaded = false

  let isClosing = false

  function withoutThread(): void {
    thread = undefined
    isThreaded = false
    left = Infinity
    context.cache.clear()
  }

  /** Nothing where no thread may be started: a process with restricted rights, a program that was put into one file. */
  function start(): ThreadWriter | undefined {
    try {
      return threadWriter({ path, lockTimeoutMs, context, onAnswer: onThreadAnswer, onEnd: fallBack })
    } catch {
      withoutThread()
      return undefined
    }
  }

  function fallBack(): void {
    const wasThreaded = isThreaded
    withoutThread()
    if (wasThreaded) local.resume()
  }

  function current(): Writer {
    if (!isThreaded && --left < 0) {
      thread ??= start()
      isThreaded = thread !== undefined && (threadAfter === 0 || thread.isReady()) && local.isIdle()
      if (isThreaded) {
        local.rest()
        context.cache.recheck()
      }
    }
    return thread !== undefined && isThreaded ? thread : local
  }

  const open = <T>(work: (writer: Writer) => Promise<T>): Promise<T> =>
    isClosing ? Promise.reject(new PlimsollError('closed', `The store ${path} is closed.`)) : work(current())

  return {
    run: (name, args, durability) => open((writer) => writer.run(name, args, durability)),
    indexWords: () => open((writer) => writer.indexWords()),
    forgetLog: () => open((writer) => writer.forgetLog()),
    othersVersion: (db) => (thread !== undefined && isThreaded ? thread.othersVersion(db) : db.othersVersion()),
    async close() {
      isClosing = true
      try {
        await thread?.close()
      } finally {
        withoutThread()
        await local.close()
      }
    },
  }
}
