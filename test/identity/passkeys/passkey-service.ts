import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { makeSendJson } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Settings with a base URL that allows passkeys. Browsers take `localhost` for encrypted. */
export const passkeySettings = async (): Promise<Readonly<Record<string, string>>> => {
  const port = await freePort()
  return { MOORAGE_LISTEN: `127.0.0.1:${port}`, MOORAGE_BASE_URL: `http://localhost:${port}` }
}

/** A service whose base URL allows passkeys. */
export const startPasskeyService = async (settings: Readonly<Record<string, string>> = {}): Promise<TestService> => {
  const listening = await passkeySettings()
  const service = await startService({ settings: { ...listening, ...settings } })
  return { ...service, send: makeSendJson(`http://${listening['MOORAGE_LISTEN']}`) }
}
