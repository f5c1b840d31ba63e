import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeHelmFinder } from '../../../adapters/helm/process/helm-finder.ts'
import type { HelmProcessRunner } from '../../../adapters/helm/process/helm-runner.ts'
import { makeHelmProcessRunner, makeGuards } from '../../../adapters/helm/process/helm-runner.ts'
import { unwatchedHelpers } from '../../support/child-processes.ts'
import { usualLimits, type HelmLimits } from '../../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { HelmWork } from '../../../core/packages/releases/ports.ts'
import { chartTexts } from '../../packages/texts.ts'

/** A runner over a shell script in helm's place, and the folder in which both work. */
export interface SpyBench {
  readonly runner: HelmProcessRunner
  readonly folder: string
  readonly work: HelmWork
  remove(): void
}

/** @param script what is done instead of an operation; `$1` is its name */
export const spyHelm = (script: string, limits: Partial<HelmLimits> = {}): SpyBench => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-spy-'))
  const path = join(folder, 'helm')
  writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\nif [ "$1" = version ]; then echo v4.1.4; exit; fi\n${script}\n`, {
    mode: 0o755,
  })
  const runner = makeHelmProcessRunner({
    chartTexts,
    finder: makeHelmFinder({ setting: path, searchPath: '', bundled: async () => undefined }),
    proxy: makeLoopbackProxy(),
    guards: makeGuards(process.env['PATH'] ?? ''),
    limits: { ...usualLimits(2), changeGraceSeconds: 0.3, finishSeconds: 0.3, ...limits },
    folder,
    helpers: unwatchedHelpers,
  })
  const cluster = { name: 'wharf' } as MemberCluster
  return {
    runner,
    folder,
    work: {
      target: { cluster, driver: 'Secret', tenantId: 1 },
      release: { namespace: 'harbour', name: 'tide' },
      flags: { dryRun: 'client' },
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
