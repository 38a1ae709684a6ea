import { grouped, plural, short } from '../inspect/figures.ts'
import { fitWidth, plainText } from '../inspect/width.ts'
import type { ChatView } from './chat.ts'
import type { Console } from './console.ts'
import { safeText } from './safe-text.ts'
import type { Spinner } from './spinner.ts'

/** Draws a chat as it happens. */
export function screenView(console: Console, spinner: Spinner): ChatView & { endText(): void } {
  const { paint, screen, write } = console
  let inText = false
  const endText = (): void => {
    spinner.stop()
    if (inText) write('\n')
    inText = false
  }
  const note = (text: string): void => {
    endText()
    write(`${text}\n`)
  }
  return {
    endText,
    onWait: (label) => {
      endText()
      spinner.start(label)
    },
    onText(text) {
      if (!inText) spinner.stop()
      inText = true
      write(safeText(text))
    },
    onNotice: (text) => note(paint('yellow', text)),
    onCall({ name, input }) {
      const about = plainText(
        Object.values(input)
          .filter((value) => typeof value === 'string')
          .join(' '),
      )
      note(fitWidth(`⏵ ${name} ${about}`, screen.width - 1))
    },
    onResult(_call, shown, isError) {
      const size = `${plural(shown.split('\n').length, 'line')}, ${short(Buffer.byteLength(shown))}B`
      const first = plainText(shown.split('\n', 1)[0] ?? '')
      note(paint(isError ? 'red' : 'dim', fitWidth(`  ${isError ? first : size}`, screen.width - 1)))
    },
    onEvent(event) {
      if (event.type === 'epoch-declared')
        note(
          paint('yellow', `▼ compacted: ${grouped(event.before)} → ${grouped(event.after)} tokens (${event.reason})`),
        )
      else if (event.type === 'item-offloaded')
        note(
          paint(
            'yellow',
            `▼ ${short(event.originalBytes)}B shown as ${short(event.shownBytes)}B; the rest is ${event.handle}`,
          ),
        )
      else if (event.type === 'degraded') note(paint('yellow', `! ${event.what}: ${event.cause}`))
    },
  }
}
