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

/** A service whose base URL allows passkeys. Browsers take `localhost` for encrypted. */
export const startPasskeyService = async (settings: Readonly<Record<string, string>> = {}): Promise<TestService> => {
  const port = await freePort()
  const service = await startService({
    settings: { MOORAGE_LISTEN: `127.0.0.1:${port}`, MOORAGE_BASE_URL: `http://localhost:${port}`, ...settings },
  })
  return { ...service, send: makeSendJson(`http://127.0.0.1:${port}`) }
}
