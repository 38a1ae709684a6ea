import { readFileSync } from 'node:fs'
import { openTelemetry } from '../drivers/telemetry/open-telemetry.ts'
import { providerOfFormat } from '../formats/endpoints.ts'
import type { PlimsollOptions } from '../options.ts'
import type { Foundation } from './foundation.ts'
import type { OpenModels } from './open-models.ts'

/** Lets an OpenTelemetry SDK of the program have spans and metrics of every call. */
export function connectTelemetry({ telemetry = true }: PlimsollOptions, { on }: Foundation, models: OpenModels): void {
  if (!telemetry) return
  on(
    openTelemetry({
      version: versionOf,
      priceOf: (model) => models.catalogue().resolve(model).info.price,
      providerOf: providerOfFormat,
    }),
  )
}

const versionOf = (): string =>
  (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version
