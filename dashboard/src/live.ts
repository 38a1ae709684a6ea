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

export type LiveState = 'connecting' | 'live' | 'away'

/** Waits between attempts grow to this. */
const MOST_WAIT_MS = 15_000

/**
 * Follows the server's events. After a break it goes on from the last one that it got, so that nothing is missed that the server still
 * keeps. Events are handed on as they come and are not kept: the page's memory does not grow with them.
 */
export function followEvents(onNews: (news: News) => void, onState: (state: LiveState) => void): () => void {
  const stopped = new AbortController()
  let last: number | undefined
  const loop = async (): Promise<void> => {
    let wait = 500
    while (!stopped.signal.aborted) {
      try {
        const url = eventsUrl()
        if (last !== undefined) url.searchParams.set('since', String(last))
        const response = await fetch(url, { signal: stopped.signal })
        if (!response.ok || response.body === null) throw new Error(String(response.status))
        onState('live')
        onNews('connected')
        wait = 500
        for await (const event of eventsIn(response.body)) {
          last = event.number
          onNews(event)
        }
      } catch {
        // Told below; a break is nothing that a person has to act on.
      }
      if (stopped.signal.aborted) return
      onState('away')
      await new Promise((resolve) => setTimeout(resolve, wait))
      wait = Math.min(MOST_WAIT_MS, wait * 2)
    }
  }
  void loop()
  return () => stopped.abort()
}

async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<LiveEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      if (data !== undefined) yield JSON.parse(data.slice(6)) as LiveEvent
    }
  }
}

/** What was written behind an answer may come after the event that told of it: one more look when things are quiet again. */
const LATE_MS = 3_000

/**
 * A number that changes when something happened that `matters`, at most once in `everyMs`, once more when nothing followed, and whenever the
 * page begins to listen, since it cannot know what it missed.
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

/** An event, or that the page listens from now on. */
export type News = LiveEvent | 'connected'
export type Subscribe = (listener: (news: News) => void) => () => void
