/** `plimsoll/proxy`: the HTTP proxy, for programs that start it themselves. */
export { startProxy, type Proxy, type ProxyOptions } from '../gateway/proxy.ts'
