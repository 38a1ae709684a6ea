import { grouped, plural, short } from '../inspect/figures.ts'
import { fitWidth, plainText } from '../inspect/width.ts'
import type { ChatView } from './chat.ts'
import type { Console } from './console.ts'
import type { Style } from '../kit/screen.ts'
import { wrapped } from '../kit/wrapped.ts'
import { safeText } from './safe-text.ts'
import type { Spinner } from './spinner.ts'

/** Draws a chat as it happens. */
export function screenView(console: Console, spinner: Spinner): ChatView & { endText(): void } {
  const { paint, write } = console
  let inText = false
  const endText = (): void => {
    spinner.stop()
    if (inText) write('\n')
    inText = false
  }
  const note = (text: string, style?: Style): void => {
    endText()
    const lines = wrapped(text, console.screen)
    write(`${style === undefined ? lines : paint(style, lines)}\n`)
  }
  const oneLine = (text: string): string => fitWidth(text, console.screen.width - 1)
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
    onNotice: (text) => note(text, 'yellow'),
    onCall({ name, input }) {
      const about = plainText(
        Object.values(input)
          .filter((value) => typeof value === 'string')
          .join(' '),
      )
      note(oneLine(`⏵ ${name} ${about}`))
    },
    onResult(_call, shown, isError) {
      const size = `${plural(shown.split('\n').length, 'line')}, ${short(Buffer.byteLength(shown))}B`
      const first = plainText(shown.split('\n', 1)[0] ?? '')
      note(oneLine(`  ${isError ? first : size}`), isError ? 'red' : 'dim')
    },
    onEvent(event) {
      if (event.type === 'epoch-declared')
        note(`▼ compacted: ${grouped(event.before)} → ${grouped(event.after)} tokens (${event.reason})`, 'yellow')
      else if (event.type === 'item-offloaded')
        note(
          `▼ ${short(event.originalBytes)}B shown as ${short(event.shownBytes)}B; the rest is ${event.handle}`,
          'yellow',
        )
      else if (event.type === 'degraded') note(`! ${event.what}: ${event.cause}`, 'yellow')
    },
  }
}
