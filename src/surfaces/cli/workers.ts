import cluster, { type Worker } from 'node:cluster'
import { EXIT } from './exit-codes.ts'

/**
 * Runs `count` copies of this command on one port. What one worker reports as an event the others hear too, so that metrics
 * and event streams say the same whichever worker answers. A worker that dies is replaced; signals go to all.
 */
export async function runWorkers(count: number): Promise<void> {
  let stopping = false
  let giveUp = (): void => undefined
  const start = (): void => {
    const worker = cluster.fork()
    let hasListened = false
    worker.once('listening', () => (hasListened = true))
    // One that never came to listen would not the next time either; it has said why.
    worker.once('exit', (code) => {
      if (hasListened || stopping) return
      process.exitCode = code === 0 ? EXIT.failure : code
      giveUp()
    })
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
    giveUp = () => {
      stopping = true
      resolve('SIGTERM')
    }
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  stopping = true
  const gone = workers()
    .filter((worker) => !worker.isDead())
    .map((worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())))
  workers().forEach((worker) => worker.process.kill(signal))
  await Promise.all(gone)
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
