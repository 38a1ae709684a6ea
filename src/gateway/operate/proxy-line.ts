import type { ServerResponse } from 'node:http'
import type { TurnReport } from '../exchange-types.ts'

/** One line per request, for `--json` and logs. Never a credential, never a body. */
export interface ProxyLine {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly session?: string
  readonly load?: number
  readonly limit?: number
  readonly epoch?: string
  readonly saved?: number
  readonly recovered?: true
  readonly error?: string
}

export function lineOf(
  method: string,
  path: string,
  response: ServerResponse,
  ms: number,
  turn: TurnReport | undefined,
  error: string | undefined,
): ProxyLine {
  return {
    method,
    path: path.split('?')[0]!,
    status: response.statusCode,
    ms: Math.round(ms),
    ...(turn !== undefined && {
      session: turn.session,
      load: Math.ceil(turn.prepared.load.count.high),
      limit: turn.prepared.limit.tokens,
      saved: Math.max(0, Math.round(turn.prepared.report.loadOriginal - turn.prepared.report.loadAfter)),
      ...(turn.prepared.epoch !== undefined && { epoch: turn.prepared.epoch }),
      ...(turn.recovered && { recovered: true as const }),
    }),
    ...(error !== undefined && { error }),
  }
}
