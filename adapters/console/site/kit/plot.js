import { useEffect, useRef } from 'preact/hooks'
import { number } from './format.js'
import { html } from './html.js'

/** @typedef {{ label: string, values: readonly number[] }} Series */

/** Colors of series in both color schemes, each told from its neighbours also by people who see few colors. */
const colors = ['#2f8fb3', '#c9711a', '#6d63c9', '#3d9a50', '#b6488f', '#8a7a2c']

/** @param {string} name */
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888'

const heightPx = 240

/**
 * Draws values over days. A reader who cannot see it has the table beside.
 *
 * @param {{ label: string, unit: string, days: readonly number[], series: readonly Series[], limit?: number }} props
 *   `days`: instants in seconds; `limit`: a line across
 */
export const Plot = ({ label, unit, days, series, limit }) => {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    let isOver = false
    /** @type {(() => void) | undefined} */
    let end
    void import('uplot').then(({ default: UPlot }) => {
      if (isOver) return
      const [ink, line] = [styled('--soft'), styled('--line')]
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line } }
      const limits = limit === undefined ? [] : [{ label: 'limit', values: days.map(() => limit) }]
      const drawn = [...series, ...limits]
      const chart = new UPlot(
        {
          width: element.clientWidth,
          height: heightPx,
          tzDate: (instant) => UPlot.tzDate(new Date(instant * 1000), 'Etc/UTC'),
          legend: { show: false },
          cursor: { show: true, drag: { x: false, y: false } },
          scales: { y: { range: (_, low, high) => [Math.min(0, low), high === 0 ? 1 : high * 1.08] } },
          axes: [axis, { ...axis, size: 56, values: (_, values) => values.map((value) => number(value)) }],
          series: [
            {},
            ...drawn.map((each, at) => ({
              label: each.label,
              stroke: colors[at % colors.length] ?? ink,
              width: 2,
              ...(at >= series.length ? { dash: [6, 4], stroke: styled('--bad') } : {}),
              points: { show: days.length < 2 },
            })),
          ],
        },
        [[...days], ...drawn.map(({ values }) => [...values])],
        element,
      )
      const watcher = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: heightPx }))
      watcher.observe(element)
      end = () => {
        watcher.disconnect()
        chart.destroy()
      }
    })
    return () => {
      isOver = true
      end?.()
    }
  }, [days, series, limit])
  return html`
    <figure class="plot">
      <figcaption><span class="strong">${label}</span> <span class="faint">${unit}</span></figcaption>
      <div ref=${box} class="plot-box" role="img" aria-label=${label} />
      <ul class="legend">
        ${series.map(
          (each, at) =>
            html`<li key=${each.label}>
              <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                <circle cx="5" cy="5" r="5" fill=${colors[at % colors.length]} /></svg
              >${each.label}
            </li>`,
        )}
      </ul>
    </figure>
  `
}
