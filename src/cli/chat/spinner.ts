import type { Console } from './console.ts'

export interface Spinner {
  start(label: string): void
  stop(): void
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
const ERASE_LINE = '\r\u001B[2K'

/** Shows that something is under way; on a terminal only. */
export function createSpinner({ screen, paint, write }: Pick<Console, 'screen' | 'paint' | 'write'>): Spinner {
  let timer: NodeJS.Timeout | undefined
  let frame = 0
  return {
    start(label) {
      this.stop()
      if (!screen.animates) return
      const draw = (): void => write(`${ERASE_LINE}${paint('cyan', FRAMES[frame++ % FRAMES.length]!)} ${label}`)
      draw()
      timer = setInterval(draw, FRAME_MS)
    },
    stop() {
      if (timer === undefined) return
      clearInterval(timer)
      timer = undefined
      write(ERASE_LINE)
    },
  }
}
