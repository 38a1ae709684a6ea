import type { GATEWAY, LIBRARY, LiveIn, OptionsOf } from './settings.ts'

/** What the engine takes, whatever stands in front of it. */
export type LibraryOptions = OptionsOf<typeof LIBRARY>

/** What only requests through `plimsoll.fetch`, the gateway and the proxy read. */
export type GatewayOptions = OptionsOf<typeof GATEWAY>

/** Each option is listed in the [configuration reference](configuration.md#options-in-code). */
export interface PlimsollOptions extends LibraryOptions, GatewayOptions {}

/** What may change while requests are under way. Stores, secret and clock may not. */
export type LiveOptions = Pick<PlimsollOptions, LiveIn<typeof LIBRARY> | LiveIn<typeof GATEWAY>>
