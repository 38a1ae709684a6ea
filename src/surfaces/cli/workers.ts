import cluster, { type Worker } from 'node:cluster'

/**
 * Runs `count` copies of this command on one port. What one worker reports as an event the others hear too, so that metrics
 * and event streams say the same whichever worker answers. A worker that dies is replaced; signals go to all.
 */
export async function runWorkers(count: number): Promise<void> {
  let stopping = false
  const start = (): void => {
    const worker = cluster.fork()
    worker.on('message', (message) => {
      for (const other of workers()) if (other.id !== worker.id && other.isConnected()) other.send(message)
    })
  }
  for (let i = 0; i < count; i++) start()
  cluster.on('exit', () => {
    if (!stopping) start()
  })
  process.on('SIGHUP', () => workers().forEach((worker) => worker.process.kill('SIGHUP')))
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  stopping = true
  const gone = workers().map((worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())))
  workers().forEach((worker) => worker.process.kill(signal))
  await Promise.all(gone)
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
