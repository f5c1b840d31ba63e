import { callApi, makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { compare, generatorNote, medianOf, ratioOf, readingOf } from '../measure.ts'
import { getRequest, loadOn, postRequest } from '../requests.ts'
import { dataSizes, enrol, fillLargeData, type DataSize } from './large-organization-data.ts'
import { note, type MeasureRow } from './row.ts'

const organization = 7
const batch = 100
const differentRequests = 40

/** Numbers from a fixed seed (Park and Miller's generator): every run asks the same questions. */
const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Clusters of the organization. */
const picker = ({ objects, organizations }: DataSize): (() => number) => {
  const random = seeded(20_261_121)
  return () => Math.floor(random() * (objects / organizations)) * organizations + organization + 1
}

/** Row 11: both through the API by one client, one after the other. */
export const permissionBatch: MeasureRow = async ({ lab, bench, run }) => {
  const size = dataSizes[run.size]
  const databaseUrl = await (await lab.mariaDb()).createDatabase()
  const service = await lab.service({ name: 'service on much data', databaseUrl })
  const user = await makeUser(service, 'bench-ada')
  await fillLargeData(databaseUrl, size, bench.progress)
  await enrol(databaseUrl, user.id, organization)
  const pick = picker(size)
  const org = `org=org-${organization}`
  const singles = Array.from(
    { length: differentRequests },
    () => `/authz/objects/cluster/${pick()}/allowed-permissions?${org}`,
  )
  const batches = Array.from({ length: differentRequests }, () =>
    Array.from({ length: batch }, () => ({ objectType: 'cluster', objectID: pick() })),
  )
  const held = await answered(service, user.token, org, batches[0] ?? [])
  const path = `/api/v1/authz/objects/allowed-permissions?${org}`
  const { ours, twin } = await compare(bench, `permission questions, ${size.objects} objects, 1 connection`, {
    ours: {
      target: loadOn(
        'batch',
        service.port,
        batches.map((body) => postRequest(path, user.token, body)),
        1,
      ),
      pid: service.pid,
    },
    twin: {
      target: loadOn(
        'single',
        service.port,
        singles.map((single) => getRequest(`/api/v1${single}`, user.token)),
        1,
      ),
      pid: service.pid,
    },
  })
  await service.stop()
  return [
    {
      row: '11',
      what: `batch of ${batch} permissions, 1 client`,
      ours: readingOf(ours),
      against: 'one object',
      twin: readingOf(twin),
      ...ratioOf(ours, twin, 'p50Ms'),
      unit: 'x',
      bar: bars.permissionBatch,
      ...note(
        `p50 through the API ${medianOf(ours, 'p50Ms').toFixed(2)} ms against ${medianOf(twin, 'p50Ms').toFixed(2)} ms; ${size.users} users, ${size.objects} objects, ${held} of the first ${batch} with relations`,
        generatorNote(ours, twin),
      ),
    },
  ]
}

/** How many of a batch have relations: a figure for empty answers would mean nothing. */
const answered = async (
  service: { readonly baseUrl: string },
  token: string,
  org: string,
  body: unknown,
): Promise<number> => {
  const answers = (await callApi(service, `/authz/objects/allowed-permissions?${org}`, {
    authorization: `Bearer ${token}`,
    body,
  })) as {
    readonly allowedPermissions: readonly string[]
  }[]
  const count = answers.filter((answer) => answer.allowedPermissions.length > 0).length
  if (count === 0)
    throw new Error(
      'no question of the batch was answered with a relation: the data are not what the bench takes them for',
    )
  return count
}
