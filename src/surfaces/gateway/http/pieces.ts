import type { Readable } from 'node:stream'

/** Reads a stream piece by piece, as far as somebody wants to look; the rest stays in it, paused. */
export interface Pieces {
  /** What was read so far. */
  readonly taken: Uint8Array[]
  next(waitMs: number): Promise<Uint8Array | 'end' | 'late'>
  /** Everything, what was read before included; what goes beyond the limit is thrown away. */
  rest(limit: number): Promise<Uint8Array>
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
        const timer = setTimeout(
          () => {
            body.pause()
            settle()
            resolve('late')
          },
          Math.max(0, waitMs),
        )
        body.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose)
        body.resume()
      })
    },
    rest(limit) {
      const chunks = [...taken]
      let size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
      const whole = (): Uint8Array => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
      return new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure)
        if (body.readableEnded) return resolve(whole())
        body.on('data', (chunk: Buffer) => {
          if (size < limit) chunks.push(chunk.subarray(0, limit - size))
          size += chunk.length
        })
        const onClose = (): void => reject(new Error('The connection was closed.'))
        body.once('end', () => {
          // An error that nobody gets to see would cost a stack trace for each answer.
          body.off('close', onClose)
          resolve(whole())
        })
        body.once('error', reject).once('close', onClose)
        body.resume()
      })
    },
  }
}
