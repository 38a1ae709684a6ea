import cluster, { type Worker } from 'node:cluster'
import { rmSync } from 'node:fs'
import { EXIT } from './kit/output.ts'
import { socketFolder, workerVariables, type Told } from './workplace.ts'

/**
 * Runs `count` copies of this command on one port. What one worker reports as an event the others hear too, so that metrics
 * and event streams say the same whichever worker answers. A conversation belongs to the worker that met it first; a request that comes to
 * another one is handed over. A worker that dies is replaced; signals go to all.
 */
export async function runWorkers(count: number): Promise<void> {
  let stopping = false
  let giveUp = (): void => undefined
  const folder = socketFolder()
  /** The one that takes another's place has its number, and its conversations. */
  const start = (number: number): void => {
    const worker = cluster.fork(workerVariables({ number, count, folder }))
    // One that is going away cannot be told anything; that it has gone is heard below.
    worker.on('error', () => undefined)
    let hasListened = false
    worker.once('listening', () => (hasListened = true))
    // One that never came to listen would not the next time either; it has said why.
    worker.once('exit', (code) => {
      if (hasListened || stopping) return
      process.exitCode = code === 0 ? EXIT.failure : code
      giveUp()
    })
    worker.once('exit', () => {
      if (!stopping) start(number)
    })
    worker.on('message', (message: Told) => {
      for (const other of workers()) if (other.id !== worker.id && other.isConnected()) other.send(message)
    })
  }
  for (let number = 0; number < count; number++) start(number)
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
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
