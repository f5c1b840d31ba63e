import { daySeconds } from '../../../core/usage/month.ts'
import type { Random } from './random.ts'
import { makeRandom } from './random.ts'

/** A contract of a customer. Times are seconds. */
interface SampleContract {
  readonly name: string
  readonly product: string
  readonly features: readonly string[]
  readonly quota: { readonly metric: 'cpu_core_month' | 'memory_gib_month'; readonly limit: number } | undefined
  readonly start: number
  readonly end: number
  /** Positions in `clusters` of the customer, and when each was bound. */
  readonly bindings: readonly { readonly cluster: number; readonly at: number }[]
}

export interface SampleCluster {
  readonly uid: string
  readonly name: string
  readonly mode: 'prod' | 'non-prod'
  /** When it was first heard. */
  readonly from: number
  /** A time in which nothing was heard of it; undefined if there is none. */
  readonly silence: { readonly from: number; readonly to: number } | undefined
}

export interface SampleCustomer {
  readonly login: string
  readonly fullName: string
  readonly clusters: readonly SampleCluster[]
  readonly contracts: readonly SampleContract[]
}

const companies: readonly (readonly [login: string, fullName: string, clusters: readonly string[]])[] = [
  ['northwind-bank', 'Northwind Bank plc', ['frankfurt', 'dublin', 'london']],
  ['sever-data', 'ООО «Север Дата»', ['москва', 'казань', 'омск']],
  ['beijing-cloud', '北京云数据有限公司', ['北京', '上海', '深圳']],
  ['gulf-software', 'شركة الخليج للبرمجيات', ['دبي', 'الرياض', 'مسقط']],
  ['chao-phraya', 'บริษัท เจ้าพระยาดิจิทัล จำกัด', ['กรุงเทพ', 'เชียงใหม่', 'ภูเก็ต']],
  ['ganga-services', 'गंगा सेवाएँ प्राइवेट लिमिटेड', ['मुंबई', 'दिल्ली', 'बेंगलुरु']],
  ['anchor-games', 'Anchor Games ⚓ 🎮', ['🚀-launch', 'lobby-👾', 'team-👩‍💻']],
  ['aegean-lines', 'Ακτοπλοϊκές Γραμμές Αιγαίου', ['πειραιάς', 'σύρος', 'ρόδος']],
  ['muenster-werke', 'Münsterländer Stadtwerke GmbH & Co. KG', ['münster', 'köln', 'düsseldorf']],
  ['han-river', '한강 소프트웨어', ['서울', '부산', '대구']],
  ['lodz-retail', 'Łódź Retail Spółka z o.o.', ['łódź', 'gdańsk', 'wrocław']],
  [
    'long-name',
    'The Long Established International Consortium of Container Freight and Harbour Logistics',
    ['harbour-of-the-old-town', 'terminal'],
  ],
  ['tokyo-games', '東京ゲームズ株式会社', ['東京', '大阪', '札幌']],
]

const stages = ['prod', 'qa', 'staging', 'dev'] as const

/**
 * Returns customers with this many clusters together. `start` and `end` are those of the time for which usage is made,
 * in seconds.
 */
export const sampleVendor = (seed: number, clusters: number, start: number, end: number): readonly SampleCustomer[] => {
  const count = Math.max(1, Math.min(companies.length, Math.ceil(clusters / 10)))
  return companies.slice(0, count).map(([login, fullName, places], index) => {
    const random = makeRandom(`${seed}/${login}`)
    const own = Array.from({ length: Math.floor(clusters / count) + (index < clusters % count ? 1 : 0) }, (_, n) =>
      sampleCluster(random, places, n, start, end),
    )
    return { login, fullName, clusters: own, contracts: sampleContracts(random, own, start, end) }
  })
}

const sampleCluster = (
  random: Random,
  places: readonly string[],
  n: number,
  start: number,
  end: number,
): SampleCluster => {
  const stage = stages[n % stages.length] ?? 'dev'
  const silentFrom = random.between(start, end - 6 * daySeconds)
  return {
    uid: random.uuid(),
    name: `${places[n % places.length] ?? 'cluster'}-${stage}-${Math.floor(n / stages.length) + 1}`,
    mode: stage === 'prod' ? 'prod' : 'non-prod',
    from: random.chance(0.8) ? start : random.between(start, end - 10 * daySeconds),
    silence: random.chance(0.1) ? { from: silentFrom, to: silentFrom + random.between(1, 5) * daySeconds } : undefined,
  }
}

/** Most clusters have a contract for databases; every fourth has none, and its use is free. */
const sampleContracts = (
  random: Random,
  clusters: readonly SampleCluster[],
  start: number,
  end: number,
): readonly SampleContract[] => {
  const bindings = clusters.flatMap(({ from }, cluster) =>
    cluster % 4 === 3 ? [] : [{ cluster, at: from + random.between(0, 3) * daySeconds }],
  )
  const hasLimit = random.chance(0.5)
  const databases: SampleContract = {
    name: 'Databases, enterprise',
    product: 'database',
    features: ['database-enterprise'],
    quota: hasLimit ? { metric: 'memory_gib_month', limit: random.between(2, 40) * 100 } : undefined,
    start: start - 30 * daySeconds,
    end: end + 300 * daySeconds,
    bindings,
  }
  const backup: SampleContract = {
    name: 'Backup',
    product: 'backup',
    features: ['backup-standard'],
    quota: undefined,
    start: start + random.between(0, 40) * daySeconds,
    end: end + 100 * daySeconds,
    bindings: bindings.filter((_, n) => n % 3 === 0).map(({ cluster, at }) => ({ cluster, at: at + daySeconds })),
  }
  return [databases, backup]
}
