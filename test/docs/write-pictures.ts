import { mkdirSync, writeFileSync } from 'node:fs'
import type { BrowserContextOptions } from 'playwright-core'
import { startDemonstration } from '../console/demonstration.fixture.ts'

/** Writes the pictures of the console that the README shows, from the demonstration with a hub. */
const folder = new URL('../../docs/pictures/', import.meta.url)

/** The name, the user, the view and what must be there. */
const pictures: readonly (readonly [string, string, string, string, BrowserContextOptions?])[] = [
  ['usage', 'admin', '/console/o/northwind/usage', '.plot canvas >> nth=1'],
  ['hub', 'vera', '/console/o/harbourmaster/hubs/hub', 'text=Clusters that ask to join', { colorScheme: 'dark' }],
  ['contract', 'nora', '/console/o/northwind/contracts/1', '.timeline'],
]

const fixture = await startDemonstration()
try {
  mkdirSync(folder, { recursive: true })
  for (const [name, login, path, ready, options] of pictures) {
    const { page, close } = await fixture.open(login, path, { viewport: { width: 1200, height: 760 }, ...options })
    await page.locator(ready).waitFor()
    writeFileSync(new URL(`${name}.png`, folder), await page.screenshot({ animations: 'disabled' }))
    await close()
  }
} finally {
  await fixture.stop()
}
process.exit(0)
