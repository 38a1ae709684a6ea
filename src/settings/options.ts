import type { GATEWAY, LIBRARY, LiveIn, OptionsOf } from './settings.ts'

/** Options of the engine. */
export type LibraryOptions = OptionsOf<typeof LIBRARY>

/** Options of requests through `plimsoll.fetch`, the gateway and the proxy. */
export type GatewayOptions = OptionsOf<typeof GATEWAY>

/** Each option is listed in the [configuration reference](configuration.md#options-in-code). */
export interface PlimsollOptions extends LibraryOptions, GatewayOptions {}

/** The options that can change while requests are running. Stores, secret and clock cannot. */
export type LiveOptions = Pick<PlimsollOptions, LiveIn<typeof LIBRARY> | LiveIn<typeof GATEWAY>>
