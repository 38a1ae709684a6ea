import { wrap } from '../inspect/terminal.ts'
import { displayWidth } from '../inspect/width.ts'
import type { Screen } from './screen.ts'

/** Sentences broken at spaces where a terminal would break them inside a word; whatever fits, and pipes, stay as they are. */
export function wrapped(text: string, { isTerminal, width }: Pick<Screen, 'isTerminal' | 'width'>): string {
  if (!isTerminal) return text
  return text
    .split('\n')
    .flatMap((line) => {
      if (displayWidth(line) <= width) return [line]
      const indent = /^ */.exec(line)![0].slice(0, Math.floor(width / 2))
      return wrap(line.trimStart(), width - indent.length).map((part) => indent + part)
    })
    .join('\n')
}
