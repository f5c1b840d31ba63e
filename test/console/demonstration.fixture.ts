import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runIn } from '../composition/command-fixture.ts'
import { startHub } from '../support/hub/hub-command.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { startConsole } from './console.fixture.ts'

/** Starts a hub, fills a service with the demonstration, and opens a browser for its users. */
export const startDemonstration = async (): Promise<ConsoleFixture> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-stories-'))
  const hub = await startHub()
  const settings = {
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DATABASE_URL: `sqlite:${folder}/moorage.sqlite`,
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
    MOORAGE_BILLING_ENABLED: 'true',
    MOORAGE_TLS: 'false',
    MOORAGE_HELM: 'off',
    MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback',
  }
  const seeded = await runIn(settings, 'demo', 'seed', '--json', '--hub', hub.hub, '--spoke', hub.spoke)
  const { people } = JSON.parse(seeded.out) as { people: readonly { login: string; password: string }[] }
  const passwords = new Map(people.map(({ login, password }) => [login, password]))
  const fixture = await startConsole({ ...settings, MOORAGE_ADMIN_PASSWORD: passwords.get('admin') ?? '' }, passwords)
  return {
    ...fixture,
    async stop() {
      await fixture.stop()
      await hub.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
