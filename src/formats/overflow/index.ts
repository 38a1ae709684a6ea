export type { ClassifiedError } from './classify.ts'
export { classifyProviderError } from './classify.ts'
export { isVendor } from './vendors.ts'
