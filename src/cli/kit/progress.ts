import { fitWidth } from '../inspect/width.ts'
import type { Screen } from './screen.ts'

/** One line that is drawn over itself, on a terminal only. */
export interface Progress {
  show(done: number, total: number, what: string): void
  /** Takes the line away, so that output starts on a clean one. */
  clear(): void
}

const BAR = 24
// A terminal cannot show more, and drawing is not what the time is for.
const REDRAW_MS = 50
const ERASE_LINE = '\r\u001B[2K'

export function progressOn(
  stream: { write(text: string): unknown },
  screen: Screen,
  now = () => performance.now(),
): Progress {
  let drawnAt = -Infinity
  let drawn = false
  return {
    show(done, total, what) {
      if (!screen.animates || total === 0 || now() - drawnAt < REDRAW_MS) return
      drawnAt = now()
      drawn = true
      const filled = Math.min(BAR, Math.floor((done / total) * BAR))
      const percent = String(Math.floor((100 * done) / total)).padStart(3)
      const line = `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${percent} % ${what}`
      stream.write(`${ERASE_LINE}${fitWidth(line, screen.width - 1)}`)
    },
    clear() {
      if (drawn) stream.write(ERASE_LINE)
      drawn = false
    },
  }
}
