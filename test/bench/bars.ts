/** What a measured value must reach and what it should reach. */
export interface Bar {
  readonly direction: 'at least' | 'at most'
  readonly must: number
  readonly stretch: number
  /** Appended to each number: `x`, ` ms`, ` us`, ` MB`, ` s`, `/s`, or nothing. */
  readonly unit: string
}

export type Verdict = 'stretch' | 'must' | 'below the bar' | 'no bar' | 'not measured'

const atLeast = (must: number, stretch: number): Bar => ({ direction: 'at least', must, stretch, unit: 'x' })
const atMost = (must: number, stretch: number, unit = 'x'): Bar => ({ direction: 'at most', must, stretch, unit })

/** The bars of design/notes/performance.md, section 11, by row; a row with several goals has several. */
export const bars = {
  userMysql: atLeast(0.7, 0.85),
  userSqlite: atLeast(0.6, 0.7),
  manyConnectionsP99: atMost(2, 1.5),
  queriesRead: atMost(1, 1, ''),
  queriesWithPermission: atMost(2, 1, ''),
  proxySmallPipe: atLeast(1.1, 1.25),
  proxySmallDispatch: atLeast(0.8, 0.9),
  proxyLarge: atLeast(0.95, 1.05),
  slowClientMegabytes: atMost(200, 117, ' MB'),
  watch: atLeast(0.85, 0.95),
  watchAbort: atMost(1000, 300, ' ms'),
  exec: atLeast(0.9, 0.95),
  list: atLeast(0.75, 0.85),
  manyRoutes: atLeast(0.95, 1),
  permissionBatch: atMost(7, 3.5),
  signInStorm: atMost(3, 1.5),
  accessLog: atMost(7, 4, ' us'),
  firstPaint: atMost(1000, 500, ' ms'),
  screen: atMost(200, 100, ' ms'),
  interaction: atMost(100, 50, ' ms'),
  start: atMost(1, 0.5, ' s'),
  search: atMost(20, 5, ' ms'),
  hubLists: atMost(1.5, 1.2),
  hubStillness: atMost(20, 10, ' ms'),
  hubsInTime: atMost(3.5, 3.2, ' s'),
  acceptInTime: atMost(20, 10, ' s'),
  contractLists: atMost(25, 10, ' ms'),
  contractStatuses: atMost(120, 60, ' ms'),
  besideLicenses: atMost(2, 1.5),
  licenses: { direction: 'at least', must: 100, stretch: 200, unit: '' },
  acceptMegabytes: atMost(100, 50, ' MB'),
  usageRollUp: atMost(2, 1.5),
  usageClose: atMost(2, 1.5),
  usageCloseMegabytes: atMost(500, 300, ' MB'),
  besideClosing: atMost(2, 1.5),
  reportCpu: atMost(1.3, 1),
  reportSeconds: atMost(5, 3, ' s'),
  reportMegabytes: atMost(250, 200, ' MB'),
  usageView: atMost(2, 1.2),
  usageBatches: atLeast(0.75, 0.9),
  usageSingles: { direction: 'at least', must: 5000, stretch: 10_000, unit: '/s' },
  notifications: atMost(1000, 250, ' ms'),
  tracesOff: atMost(1, 0.5, ' %'),
  metricsHook: atLeast(0.7, 0.85),
  twoProcessors: atLeast(1.7, 1.8),
  backup: atMost(300, 60, ' s'),
  fairLimiter: atMost(3, 1.5),
  externalSignIns: atMost(3, 1.5),
  groupPatch: atMost(50, 20, ' ms'),
  authorizationServer: atLeast(0.7, 0.85),
  ratingSeconds: atMost(5, 3, ' s'),
  ratingMegabytes: atMost(300, 100, ' MB'),
} as const satisfies Record<string, Bar>

/** The rows of section 11 that this bench measures, with what they are about, for `--only` and `--help`. */
export const rowTitles = {
  1: 'token-authenticated GET /user on MariaDB, 64 connections',
  2: 'the same on SQLite',
  3: 'p99 at 500 connections',
  4: 'SQL round trips for each request',
  5: 'Kubernetes proxy, 2 KB answers',
  6: 'Kubernetes proxy, 5 MB answers; memory with a slow client',
  7: 'watch of small chunks; the upstream after a client left',
  8: 'exec tunnel, bytes a second',
  9: 'a list of 50',
  10: '250 routes against 1',
  11: 'a batch of 100 permission questions against 1',
  15: "other requests' p99 while 8 people sign in",
  17: 'what an access log line costs',
  18: 'start to first answer',
  19: 'lists of Helm releases beside the helm command',
  20: 'search by a part of the name among all users',
  21: 'cluster sets and sync status of a large hub beside its own lists',
  22: 'the list of 20 hubs, 3 of which hang',
  23: 'accepting 100 spokes',
  24: 'lists among 100 000 contracts with 1 000 000 clusters',
  25: 'licenses a second',
  26: 'closing a month of usage: 10^5 and 10^6 intervals, 10^7 with --slow',
  27: 'a usage report of 20,000 rows',
  28: 'reading a stored view of usage',
  29: 'usage events in batches of 1,000',
  30: 'single usage events',
  31: '1,000 notifications of a marketplace a second',
  32: 'the hook of the metrics proxy, for 10,000 tenants',
  33: 'what traces cost, off and on',
  34: 'two workers against one process, each with a processor of a quarter of a core (root)',
  35: 'backup, check and restore of a million rows',
  36: "other tenants' p99 while one floods charts, sign-ins, pictures and searches, and their median beside long reads",
  37: 'two instances behind HAProxy against one, each with a processor of a quarter of a core (root)',
  38: 'what grows with 10^4 and 10^5 users, 10^6 with --slow',
  39: 'other requests while 95 people sign in with an identity provider',
  40: 'one member added to a group of 10,000 by SCIM',
  41: 'introspection, userinfo and client credentials of the authorization server',
  42: 'rating of 10^5 lines of a month',
  43: 'the console in Chromium, with 10,000 clusters and teams',
} as const

export type RowNumber = keyof typeof rowTitles

export const rowNumbers = Object.keys(rowTitles).map(Number) as readonly RowNumber[]

/** Compared as shown, with two decimals: 0.698 prints as 0.70 and reaches 0.70. */
export function verdictOf(value: number, bar: Bar | undefined): Verdict {
  if (!Number.isFinite(value)) return 'not measured'
  if (bar === undefined) return 'no bar'
  const shown = Math.round(value * 100) / 100
  const reaches = (limit: number): boolean => (bar.direction === 'at least' ? shown >= limit : shown <= limit)
  if (reaches(bar.stretch)) return 'stretch'
  return reaches(bar.must) ? 'must' : 'below the bar'
}
