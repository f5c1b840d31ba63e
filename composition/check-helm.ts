import type { Finding } from './doctor-checks.ts'
import { helmOf } from './provide/helm.ts'
import type { Settings } from './settings.ts'
import { howToGetHelm } from '../adapters/helm-process/helm-finder.ts'

const finding = (state: Finding['state'], message: string): Finding => ({ subject: 'helm', state, message })

const origins = { setting: 'named by MOORAGE_HELM', path: 'found on the PATH', bundled: 'the bundled one' } as const

/** Which helm the service would use. Nothing is fetched. */
export const checkHelm = async (settings: Pick<Settings, 'dataDir' | 'helm'>): Promise<Finding> => {
  if (settings.helm === 'off') return finding('ok', 'MOORAGE_HELM is off: packages can be read, not changed.')
  const search = await helmOf(settings).finder.find()
  if (search.found !== undefined) return finding('ok', `${search.found.path} is Helm ${search.found.version}, ${origins[search.found.origin]}.`)
  if (settings.helm !== undefined) return finding('problem', `MOORAGE_HELM: ${search.why}.`)
  return finding('warning', `No helm can be used: ${search.why}. \`moorage serve\` fetches one at its start; without it packages can be read, not changed. ${howToGetHelm}.`)
}
