import { useEffect, useRef, useState } from 'preact/hooks'
import { eventsUrl } from './api.ts'

export interface LiveEvent {
  readonly type: string
  readonly number: number
  readonly tenant: string
  readonly session: string
  readonly at: number
  readonly [key: string]: unknown
}

export type LiveState = 'connecting' | 'live' | 'away' | 'silent'

/** The server says something every three seconds; after this time without a byte it is taken for gone. */
const SILENT_MS = 10_000

/** The longest pause between attempts to reconnect. */
const MOST_WAIT_MS = 15_000

/**
 * Follows the server's events. After a disconnection it continues after the last received event, so that it misses none that the server still has.
 * Events are passed on and not stored, so the page's memory does not grow.
 */
export function followEvents(onNews: (news: News) => void, onState: (state: LiveState) => void): () => void {
  const stopped = new AbortController()
  let last: number | undefined
  let isSilent = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let heard = (): void => undefined
  const loop = async (): Promise<void> => {
    let wait = 500
    while (!stopped.signal.aborted) {
      try {
        const url = eventsUrl()
        if (last !== undefined) url.searchParams.set('since', String(last))
        const silence = new AbortController()
        heard = () => {
          isSilent = false
          clearTimeout(timer)
          timer = setTimeout(() => {
            isSilent = true
            onState('silent')
            silence.abort()
          }, SILENT_MS)
        }
        heard()
        const response = await fetch(url, { signal: AbortSignal.any([stopped.signal, silence.signal]) })
        if (!response.ok || response.body === null) throw new Error(String(response.status))
        onState('live')
        onNews('connected')
        wait = 500
        for await (const event of eventsIn(response.body, heard)) {
          last = event.number
          onNews(event)
        }
      } catch {
        // `onState` reports the disconnection below; the user need not do anything.
      }
      if (stopped.signal.aborted) return
      clearTimeout(timer)
      onState(isSilent ? 'silent' : 'away')
      await new Promise((resolve) => setTimeout(resolve, wait))
      wait = Math.min(MOST_WAIT_MS, wait * 2)
    }
  }
  void loop()
  return () => {
    clearTimeout(timer)
    stopped.abort()
  }
}

async function* eventsIn(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<LiveEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    heard()
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      if (data !== undefined) yield JSON.parse(data.slice(6)) as LiveEvent
    }
  }
}

/** Data may be written shortly after the event about it, so the page loads once more when no further event comes. */
const LATE_MS = 3_000

/**
 * A number that changes after events that `matters` accepts: at most once in `everyMs`, once more when no further event comes, and whenever the
 * page connects, because it may have missed events.
 */
export function useChanges(matters: (event: LiveEvent) => boolean, subscribe: Subscribe, everyMs = 700): number {
  const [count, setCount] = useState(0)
  const test = useRef(matters)
  test.current = matters
  useEffect(() => {
    let soon: ReturnType<typeof setTimeout> | undefined
    let late: ReturnType<typeof setTimeout> | undefined
    const look = (): void => setCount((before) => before + 1)
    const stop = subscribe((news) => {
      if (news === 'connected') return look()
      if (!test.current(news)) return
      clearTimeout(late)
      late = setTimeout(look, LATE_MS)
      soon ??= setTimeout(() => {
        soon = undefined
        look()
      }, everyMs)
    })
    return () => {
      stop()
      clearTimeout(soon)
      clearTimeout(late)
    }
  }, [subscribe, everyMs])
  return count
}

/** An event, or the news that the page has connected. */
export type News = LiveEvent | 'connected'
export type Subscribe = (listener: (news: News) => void) => () => void
