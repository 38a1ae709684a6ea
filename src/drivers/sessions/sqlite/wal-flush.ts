import { open, type FileHandle } from 'node:fs/promises'

/**
 * Puts the write-ahead log on disk from another thread, so that a slow disk holds up those who wait for it and nobody else. The log
 * takes no locks, so a second handle on it is safe; it stays the same file for as long as the connection is open.
 */
export interface WalFlush {
  /** Resolves when everything that was committed before this call is on disk. */
  flushed(): Promise<void>
  close(): Promise<void>
}

export function walFlush(path: string): WalFlush {
  let file: Promise<FileHandle> | undefined
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function flush(): Promise<void> {
    // Data and length; when it was written nobody asks.
    await (await (file ??= open(`${path}-wal`, 'r+'))).datasync()
  }

  function start(): Promise<void> {
    const flushing: Promise<void> = flush().finally(() => {
      if (running === flushing) running = undefined
    })
    running = flushing
    return flushing
  }

  return {
    flushed() {
      if (running === undefined) return start()
      // The one that runs may have begun before the commit: all who come meanwhile share the next.
      next ??= running.then(ignore, ignore).then(() => {
        next = undefined
        return start()
      })
      return next
    },
    async close() {
      await next?.catch(ignore)
      await running?.catch(ignore)
      await (await file?.catch(ignore))?.close()
    },
  }
}

const ignore = (): undefined => undefined
