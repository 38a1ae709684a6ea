import { openTelemetry } from '../../drivers/telemetry/open-telemetry.ts'
import { providerOfFormat } from '../../formats/endpoints.ts'
import { packageVersion } from '../../util/package-root.ts'
import type { PlimsollOptions } from '../../options.ts'
import type { Foundation } from './foundation.ts'
import type { OpenModels } from './models.ts'

/** Lets an OpenTelemetry SDK of the program have spans and metrics of every call. */
export function connectTelemetry({ telemetry = true }: PlimsollOptions, { on }: Foundation, models: OpenModels): void {
  if (!telemetry) return
  on(
    openTelemetry({
      version: packageVersion,
      priceOf: (model) => models.catalogue().resolve(model).info.price,
      providerOf: providerOfFormat,
    }),
  )
}
