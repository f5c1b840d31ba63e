import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { startFakeApi } from '../../support/fake-api.ts'
import type { KubeObject } from '../../support/fake-api/kube-object.ts'
import { recordObject } from '../../helm/records/records.ts'
import { given } from '../twins/ready.ts'

// A cluster that holds release records of the size that charts usually have, and rewrites all of them when it is asked
// to.

const { releases, revisions, kubeconfig } = given<{ releases: number; revisions: number; kubeconfig: string }>()

const bytesOfText = 16 * 1024

/** Text that compresses about as well as manifests do not: hashes. */
const noise = (seed: string): string => {
  let text = ''
  for (let index = 0; text.length < bytesOfText; index += 1)
    text += `${createHash('sha256').update(`${seed} ${index}`).digest('base64')}\n`
  return text
}

const api = await startFakeApi({ progresses: false })
const kept: KubeObject[] = []
for (let release = 0; release < releases; release += 1) {
  for (let version = 1; version <= revisions; version += 1) {
    const status = version === revisions ? 'deployed' : 'superseded'
    kept.push(
      api.put(
        await recordObject('Secret', {
          name: `release-${release}`,
          namespace: `team-${release % 20}`,
          version,
          status,
          manifest: noise(`${release} ${version}`),
        }),
      ),
    )
  }
}
let turns = 0
api.rules.answer({ path: '/rewrite' }, (_req, res) => {
  turns += 1
  for (const object of kept)
    api.put({ ...object, metadata: { ...object.metadata, annotations: { turn: String(turns) } } })
  res.writeHead(200)
  res.end()
})
writeFileSync(kubeconfig, api.kubeconfig(), { mode: 0o600 })
process.stdout.write(`${JSON.stringify({ port: api.port })}\n`)
// Whoever started it holds the other end of stdin; when that goes, so does this.
process.stdin.on('end', () => process.exit(0)).resume()
