import { useRef } from 'preact/hooks'
import type { Series } from '../../../../src/dashboard/page-types.ts'
import { get, type Loaded, useLoad } from '../../api.ts'

/** The calls of a session for its charts. After the first time only what is new is fetched. */
export function useSeries(tenant: string, session: string, version: number | undefined): Loaded<Series> {
  const known = useRef<Series | undefined>(undefined)
  return useLoad(
    async (signal) => {
      const after = known.current?.calls.at(-1) ?? 0
      const more = await get<Series>('series', { tenant, session, after }, signal)
      if (signal.aborted) return more
      return (known.current = after === 0 ? more : joined(known.current!, more))
    },
    [version],
    `${tenant} ${session}`,
  )
}

/** Two stretches of one session; a kind of content that one of them lacks has no tokens there. */
function joined(before: Series, more: Series): Series {
  if (more.calls.length === 0) return before
  const columns = Object.entries(before).flatMap(([name, column]) =>
    Array.isArray(column) ? [[name, [...(column as unknown[]), ...(more[name as keyof Series] as unknown[])]]] : [],
  )
  const names = new Set([...Object.keys(before.parts), ...Object.keys(more.parts)])
  const zeros = ({ calls }: Series): number[] => calls.map(() => 0)
  const parts = Array.from(names, (name) => [
    name,
    [...(before.parts[name] ?? zeros(before)), ...(more.parts[name] ?? zeros(more))],
  ])
  return { ...(Object.fromEntries(columns) as Series), parts: Object.fromEntries(parts) as Series['parts'] }
}
