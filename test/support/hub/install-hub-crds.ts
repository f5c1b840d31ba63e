import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import type { ControlPlaneAccess } from '../components/control-plane-access.ts'
import { until } from '../until.ts'

/** Definitions of open-cluster-management.io/api v1.3.0, unmodified (Apache-2.0). */
const files = ['managedclustersets', 'managedclustersetbindings'] as const

/** Makes a cluster a hub, as far as the API goes: no controllers and no webhooks. Several test files may do so at once. */
export const installHubCrds = async ({ request }: Pick<ControlPlaneAccess, 'request'>): Promise<void> => {
  for (const file of files) {
    const definition = parse(await readFile(new URL(`${file}.yaml`, import.meta.url), 'utf8')) as object
    const { status, body } = await request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
    if (status !== 201 && status !== 409) throw new Error(`${file} was refused: ${JSON.stringify(body)}`)
  }
  for (const file of files) {
    await until(`the API of ${file}`, async () => {
      const { status } = await request('GET', `/apis/cluster.open-cluster-management.io/v1beta2/${file}`)
      return status === 200 ? true : undefined
    })
  }
}
