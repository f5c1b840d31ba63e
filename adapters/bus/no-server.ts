import type { BusServer } from '../../core/bus/ports.ts'

const refuse = (): Promise<never> => Promise.reject(new Error('Messages stay inside this process: there is no server to ask.'))

/** For messages that stay inside the process. */
export const noBusServer: BusServer = {
  isConfigured: false,
  endpoints: [],
  claimsOf: refuse,
  push: refuse,
  accounts: refuse,
  start: () => undefined,
  isConnected: () => false,
  close: () => Promise.resolve(),
}
