import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import type { Settings } from './settings.ts'

export interface HeldPort {
  readonly settings: Settings
  /** Listens on the port that `settings` names; the API listener takes it over. Undefined where the port was configured. */
  readonly held: Server | undefined
}

/**
 * Replaces port 0 of the API by a port that the system chooses. Links, cookies and the message bus name the base URL, so it
 * must be known before the API can listen. The port stays bound in between: no other process can get it.
 */
export const holdPort = async (settings: Settings): Promise<HeldPort> => {
  if (settings.listen.port !== 0) return { settings, held: undefined }
  const { host } = settings.listen
  // No client knows the port yet.
  const held = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => held.once('error', reject).listen(0, host, resolve))
  return { settings: { ...settings, listen: { host, port: (held.address() as AddressInfo).port } }, held }
}
