import { EXIT } from '../exit-codes.ts'

let isServing = false

/** From now on a closed output ends what is said, not what is done: a proxy outlives the terminal or the pipe that it was started in. */
export function keepServing(): void {
  isServing = true
}

/** Without this a write into a closed pipe or terminal would end the process as an unhandled error. */
export function tolerateClosedOutput(): void {
  // `plimsoll inspect … | head` closes the pipe early; that is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isServing) return
    if (error.code !== 'EPIPE') throw error
    process.exit(EXIT.ok)
  })
  process.stderr.on('error', () => undefined)
}
