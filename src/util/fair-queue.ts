/** Bounds of a queue. */
export interface QueueBounds {
  /** Tasks that run at once; never two of one owner. */
  readonly width: number
  /** Tasks of one owner that wait. @default any number */
  readonly most?: number
  /** How long a task waits for its turn. @default as long as it takes */
  readonly waitMs?: number
}

interface Waiting {
  start(): Promise<void>
}

/**
 * Runs each owner's tasks one after the other, and serves owners in turn: one with many tasks delays another by one of them at most. A task
 * that `bounds` refuse gives `refused` of the reason instead, and never runs.
 */
export function fairQueue({ width, most = Infinity, waitMs }: QueueBounds) {
  /** In the order in which they are served: an owner that had its turn goes to the end. */
  const lines = new Map<string, Waiting[]>()
  const served = new Set<string>()

  function startNext(): void {
    if (served.size >= width) return
    const owner = [...lines.keys()].find((one) => !served.has(one))
    if (owner === undefined) return
    const line = lines.get(owner)!
    const task = line.shift()!
    lines.delete(owner)
    if (line.length > 0) lines.set(owner, line)
    served.add(owner)
    void task.start().finally(() => {
      served.delete(owner)
      startNext()
    })
    startNext()
  }

  return <T>(owner: string, task: () => Promise<T>, refused: (reason: string) => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const line = lines.get(owner) ?? []
      if (line.length >= most) return resolve(refused(`${line.length} others of the same tenant wait already`))
      const waiting: Waiting = {
        start() {
          clearTimeout(timer)
          return task().then(resolve, reject)
        },
      }
      const timer = waitMs === undefined ? undefined : setTimeout(giveUp, waitMs).unref()
      function giveUp(): void {
        line.splice(line.indexOf(waiting), 1)
        if (line.length === 0) lines.delete(owner)
        resolve(refused(`it waited ${waitMs} ms for its turn`))
      }
      line.push(waiting)
      lines.set(owner, line)
      startNext()
    })
}
