import type { Readable } from 'node:stream'

/** Reads a stream piece by piece, as far as somebody wants to look; the rest stays in it, paused. */
export interface Pieces {
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
