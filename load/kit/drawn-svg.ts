// A chart as SVG, drawn by ECharts without a browser, in the looks that all charts of the load programs have. Called by
// those that know what to draw; pure but for the names that ECharts counts up, so that several pictures can stand in
// one page.
import { init, type EChartsOption } from 'echarts';

const COLOURS = [
  '#0b6bcb',
  '#c8511b',
  '#2e7d32',
  '#7b1fa2',
  '#5d4037',
  '#00838f',
  '#ad1457',
  '#827717',
  '#37474f',
  '#ef6c00',
  '#4527a0',
];

export function drawnSvg(title: string, size: { width: number; height: number }, option: EChartsOption): string {
  const drawn = init(null, null, { renderer: 'svg', ssr: true, ...size });
  drawn.setOption({
    animation: false,
    backgroundColor: '#fff',
    color: COLOURS,
    textStyle: { fontFamily: 'sans-serif' },
    title: { text: title, left: 12, top: 8, textStyle: { fontSize: 15 } },
    ...option,
  });
  const svg = drawn.renderToSVGString();
  drawn.dispose();
  return svg;
}
