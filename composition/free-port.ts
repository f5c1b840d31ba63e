import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { ListenAddress } from './setting-type.ts'
import type { Settings } from './settings.ts'

/**
 * Replaces port 0 by a port that is free now: links, cookies and error bodies name the base URL, so it must be known
 * before anything listens. The system gives a port just closed to nobody else for a while, so that the gap does no harm.
 */
export const withFreePorts = async (settings: Settings): Promise<Settings> => ({
  ...settings,
  listen: await withFreePort(settings.listen),
  marketplaceListen: await withFreePort(settings.marketplaceListen),
  opsListen: await withFreePort(settings.opsListen),
})

const withFreePort = async (address: ListenAddress): Promise<ListenAddress> => {
  if (address.port !== 0) return address
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, address.host, resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise<void>((resolve) => probe.close(() => resolve()))
  return { host: address.host, port }
}
