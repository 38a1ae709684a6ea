/* `openConsole` is long because one line reader serves prompts, questions, pastes and Ctrl-C, which depend on each other's state. */

import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { painterOf, screenOf, type Painter, type Screen, type Style, wrapped } from '../kit/output.ts'
import { fitWidth, grouped, plainText, plural, short } from '../kit/figures.ts'
import type { ChatView } from './chat.ts'

interface ConsoleOptions {
  readonly historyFile: string
  readonly complete: (line: string) => readonly string[]
}

/** The person's side of a chat: lines in, text out, Ctrl-C. */
export interface Console {
  readonly screen: Screen
  readonly paint: Painter
  /** Standard input is a terminal, so questions can be asked. */
  readonly canAsk: boolean
  write(text: string): void
  /** The next message or command; undefined at the end of the input. */
  line(prompt: string): Promise<string | undefined>
  /** Asks a question during the work. Lines that were typed before the question do not answer it. */
  answer(question: string): Promise<string>
  /** Runs work that Ctrl-C cancels through the signal. */
  whileWorking<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
  close(): void
}

const HISTORY_LINES = 1_000

export function openConsole({ historyFile, complete }: ConsoleOptions): Console {
  const paint = painterOf(screenOf(process.stdout))
  const terminal = process.stdin.isTTY && process.stdout.isTTY
  let echoes = false
  const reader = createInterface({
    input: process.stdin,
    output: mutable(() => echoes || !terminal),
    terminal,
    history: terminal ? readHistory(historyFile) : [],
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
    completer: (line: string) => [complete(line), line],
  })
  const waiting: ((line: string | undefined) => void)[] = []
  const typed: string[] = []
  let answering: ((line: string) => void) | undefined
  let working: AbortController | undefined
  let burst: string[] = []
  let closed = false
  let leaving = false

  const deliver = (line: string): void => {
    if (terminal && line.trim() !== '') keepHistory(historyFile, line)
    const next = waiting.shift()
    if (next === undefined) typed.push(line)
    else next(line)
  }
  reader.on('line', (line) => {
    leaving = false
    if (answering !== undefined) {
      const answer = answering
      answering = undefined
      answer(line)
      return
    }
    if (!terminal) return deliver(line)
    // The lines of one paste arrive together and form one message.
    burst.push(line)
    if (burst.length > 1) return
    setImmediate(() => {
      const text = burst.join('\n')
      burst = []
      deliver(text)
    })
  })
  const interrupt = (): void => {
    if (answering !== undefined) {
      const answer = answering
      answering = undefined
      answer('n')
    }
    if (working !== undefined) working.abort()
    else if (!terminal || leaving) reader.close()
    else {
      leaving = true
      // Ctrl-E, Ctrl-U: delete the line typed so far.
      reader.write(null, { ctrl: true, name: 'e' })
      reader.write(null, { ctrl: true, name: 'u' })
      process.stdout.write('\n(Ctrl-C again or /exit leaves)\n')
      reader.prompt()
    }
  }
  reader.on('SIGINT', interrupt)
  // A signal from another process, or Ctrl-C when standard input is not a terminal.
  process.on('SIGINT', interrupt)
  reader.on('close', () => {
    // At the end of a piped input, the running work is still finished.
    closed = true
    answering?.('n')
    setImmediate(() => waiting.splice(0).forEach((next) => next(typed.shift())))
  })
  return {
    // Read again each time, because the terminal can be resized.
    get screen() {
      return screenOf(process.stdout)
    },
    paint,
    canAsk: terminal,
    write: (text) => void process.stdout.write(text),
    line(prompt) {
      const ready = typed.shift()
      if (ready !== undefined) {
        if (terminal) process.stdout.write(`${prompt}${ready}\n`)
        return Promise.resolve(ready)
      }
      if (closed) return Promise.resolve(undefined)
      if (terminal) {
        echoes = true
        reader.setPrompt(prompt)
        reader.prompt(true)
      }
      return new Promise((resolve) => {
        waiting.push((line) => {
          echoes = false
          resolve(line)
        })
      })
    },
    answer(question) {
      if (closed) return Promise.resolve('n')
      echoes = true
      reader.setPrompt(question)
      reader.prompt()
      return new Promise((resolve) => {
        answering = (line) => {
          echoes = false
          resolve(line)
        }
      })
    },
    async whileWorking(work) {
      working = new AbortController()
      try {
        return await work(working.signal)
      } finally {
        working = undefined
      }
    },
    close() {
      process.off('SIGINT', interrupt)
      reader.close()
    },
  }
}

/** Standard output for readline, muted while an answer is printed, so that typed letters do not mix with it. */
function mutable(isOn: () => boolean): Writable {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (isOn()) process.stdout.write(chunk)
      done()
    },
  })
  Object.defineProperty(stream, 'columns', { get: () => process.stdout.columns })
  Object.defineProperty(stream, 'rows', { get: () => process.stdout.rows })
  process.stdout.on('resize', () => stream.emit('resize'))
  return stream
}

/** Newest first, because readline expects that. */
function readHistory(file: string): string[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines
    .filter((line) => line !== '')
    .slice(-HISTORY_LINES)
    .reverse()
}

function keepHistory(file: string, line: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  appendFileSync(file, `${line.replaceAll('\n', ' ')}\n`, { mode: 0o600 })
}

// Control characters except line breaks and tabs, and marks that change the text direction.
const UNSAFE = /[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Text of a model or tool must not move the cursor or change the window title. */
const safeText = (text: string): string => text.replace(UNSAFE, '')

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

export interface Spinner {
  start(label: string): void
  stop(): void
}

const ERASE_LINE = '\r\u001B[2K'

/** Shows on a terminal what is being done, on a line that is erased afterwards. */
export function createSpinner({ screen, paint, write }: Pick<Console, 'screen' | 'paint' | 'write'>): Spinner {
  let isShown = false
  return {
    start(label) {
      this.stop()
      if (!screen.animates) return
      write(paint('cyan', `${label} …`))
      isShown = true
    },
    stop() {
      if (!isShown) return
      isShown = false
      write(ERASE_LINE)
    },
  }
}
