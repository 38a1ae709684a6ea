import { describe, expect, it } from 'vitest'
import { openTelemetry } from '../../src/drivers/telemetry/open-telemetry.ts'

describe('without an SDK', () => {
  it('nothing of OpenTelemetry is loaded', () => {
    const sink = openTelemetry({
      version: () => '0',
      providerOf: () => undefined,
      load: () => expect.unreachable('there is nobody to tell'),
    })
    expect(Symbol.for('opentelemetry.js.api.1') in globalThis).toBe(false)
    sink({ type: 'overflow-recovered', at: 1, tenant: 'a', session: 's' })
  })
})
