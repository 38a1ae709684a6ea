import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Tap, UpstreamAnswer } from '../types.ts'

/**
 * Carries a body to the client at the client's pace. Rejects when the upstream breaks off; ends quietly when the client
 * walks away, since nobody is left to be told.
 */
export async function pump(answer: Carried, response: ServerResponse, tap?: Tap<Readable>): Promise<void> {
  let from = answer
  for (;;) {
    let complete = false
    try {
      complete = await carry(from, response, tap)
    } catch (error) {
      const ended = await tap?.end(false)
      await ended?.settled
      throw error
    }
    const { bytes, next, settled } = (await tap?.end(complete)) ?? {}
    // A client that left while the end was at work has closed already: nobody would say so again.
    if (!complete || response.destroyed) {
      next?.discard()
      return settled
    }
    if (bytes !== undefined && bytes.length > 0) response.write(bytes)
    if (next !== undefined) {
      from = next
      continue
    }
    const ended = new Promise<void>((resolve) => {
      response.end(resolve)
      response.once('close', resolve)
    })
    await Promise.all([ended, settled])
    return
  }
}

type Carried = Pick<UpstreamAnswer<Readable>, 'taken' | 'body'>

/** True when the body came to its end, false when the client left before. */
function carry({ taken, body }: Carried, response: ServerResponse, tap: Tap<Readable> | undefined): Promise<boolean> {
  const pass = (chunk: Uint8Array): boolean => {
    const passed = tap === undefined ? chunk : tap.chunk(chunk)
    return passed === undefined || passed.length === 0 || response.write(passed)
  }
  return new Promise((resolve, reject) => {
    const onDrain = (): void => void body.resume()
    const onClose = (): void => {
      settle()
      body.on('error', () => undefined)
      body.destroy()
      resolve(false)
    }
    const settle = (): void => {
      response.off('drain', onDrain)
      response.off('close', onClose)
    }
    if (response.destroyed) return onClose()
    if (body.errored !== null) return reject(body.errored)
    for (const chunk of taken) pass(chunk)
    if (body.readableEnded) return resolve(true)
    if (body.destroyed) return reject(new Error('The connection was closed.'))
    response.on('drain', onDrain)
    response.once('close', onClose)
    body.on('data', (chunk: Buffer) => {
      // Nobody is above a listener: whatever it throws would end the process.
      try {
        if (!pass(chunk)) body.pause()
      } catch (error) {
        body.destroy(error as Error)
      }
    })
    body.once('end', () => {
      settle()
      resolve(true)
    })
    body.once('error', (error) => {
      settle()
      if (response.destroyed) resolve(false)
      else reject(error)
    })
    // Whoever looked ahead left it paused.
    body.resume()
  })
}

/** Reads a stream piece by piece, as far as somebody wants to look; the rest stays in it, paused. */
interface Pieces {
  /** What was read so far. */
  readonly taken: Uint8Array[]
  next(waitMs: number): Promise<Uint8Array | 'end' | 'late'>
}

export function piecesOf(body: Readable): Pieces {
  const taken: Uint8Array[] = []
  let failure: Error | undefined
  let isWatched = false
  const keepFailure = (error: Error): void => void (failure = error)
  return {
    taken,
    next(waitMs) {
      if (!isWatched) body.on('error', keepFailure)
      isWatched = true
      return new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure)
        if (body.readableEnded) return resolve('end')
        if (body.destroyed) return reject(new Error('The connection was closed.'))
        const settle = (): void => {
          clearTimeout(timer)
          body.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
        }
        const onData = (piece: Buffer): void => {
          body.pause()
          settle()
          taken.push(piece)
          resolve(piece)
        }
        const onEnd = (): void => {
          settle()
          resolve('end')
        }
        const onError = (error: Error): void => {
          settle()
          reject(error)
        }
        const onClose = (): void => onError(new Error('The connection was closed.'))
        const giveUp = (): void => {
          body.pause()
          settle()
          resolve('late')
        }
        const timer = waitMs === Infinity ? undefined : setTimeout(giveUp, Math.max(0, waitMs))
        body.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose)
        body.resume()
      })
    },
  }
}
