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
export function followEvents(onEvent: (event: LiveEvent) => void, onState: (state: LiveState) => void): () => void {
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
        wait = 500
        for await (const event of eventsIn(response.body)) {
          last = event.number
          onEvent(event)
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

/** A number that changes when something happened that `matters`; at most once in `everyMs`. */
export function useChanges(matters: (event: LiveEvent) => boolean, subscribe: Subscribe, everyMs = 700): number {
  const [count, setCount] = useState(0)
  const test = useRef(matters)
  test.current = matters
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = subscribe((event) => {
      if (timer !== undefined || !test.current(event)) return
      timer = setTimeout(() => {
        timer = undefined
        setCount((before) => before + 1)
      }, everyMs)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [subscribe, everyMs])
  return count
}

export type Subscribe = (listener: (event: LiveEvent) => void) => () => void
