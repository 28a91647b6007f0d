#include "wireproof/lab/report_page.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "wireproof/lab/markup.hpp"

namespace wireproof::lab {
namespace {

// As a string of the script: what could end it, or the script, is written by number.
std::string quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&') {
            out += "\\u00";
            out += digits[code >> 4];
            out += digits[code & 15];
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string number(std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return "null";
    std::array<char, 32> room{};
    const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), *value);
    return error == std::errc() ? std::string(room.data(), end) : "null";
}

constexpr std::string_view style = R"(
body{font:15px/1.45 system-ui,"DejaVu Sans",sans-serif;color:#1f2328;background:#fff;max-width:60rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.35rem} h2{font-size:1.05rem;margin:2rem 0 .3rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .8rem;text-align:right;border-bottom:1px solid #d8dee4}
th:first-child,td:first-child{text-align:left}
.plot{width:100%;height:21rem} .legend{min-height:1.5rem} .legend span{margin-right:1rem}
.axis{color:#57606a;font-size:.85rem;margin:.2rem 0}
)";

// Ticks of a logarithmic x axis at powers of two, named as sizes are.
constexpr std::string_view helpers = R"(
function plain(v){const u=["","k","M","G","T"];let i=0,a=Math.abs(v);
if(a>=1000){while(a>=1000&&i<4){a/=1000;v/=1000;i++}}
return (Math.abs(v)>=100?v.toFixed(0):Math.abs(v)>=10?+v.toFixed(1):+v.toPrecision(3))+u[i];}
function ticks(a,b){const t=[];const lo=Math.ceil(a-1e-9),hi=Math.floor(b+1e-9);
const step=Math.max(1,Math.ceil((hi-lo)/10));
for(let p=lo;p<=hi;p+=step)t.push({v:p,label:size(Math.pow(2,p))});return t;}
function size(n){return n>=1048576?+(n/1048576).toPrecision(3)+" Mi":n>=1024?+(n/1024).toPrecision(3)+" Ki":+n.toPrecision(4)+"";}
function draw(id,names,rows,logx,logy,xname,yname){
const colors=["#0969da","#cf222e","#8250df","#1a7f37","#9a6700","#57606a"];
new Dygraph(document.getElementById(id),rows.map(r=>[logx?Math.log2(r[0]):r[0],...r.slice(1)]),{
labels:[xname,...names],logscale:logy,drawPoints:true,pointSize:3,strokeWidth:1.6,colors:colors,
connectSeparatedPoints:true,legend:"always",labelsDiv:document.getElementById(id+"-legend"),
xRangePad:8,rightGap:16,xlabel:xname,ylabel:yname,includeZero:!logy,
axes:{x:{axisLabelWidth:64,ticker:logx?((a,b)=>ticks(a,b)):undefined,
valueFormatter:v=>logx?size(Math.pow(2,v)):plain(v),axisLabelFormatter:logx?undefined:plain},
y:{axisLabelWidth:64,valueFormatter:plain,axisLabelFormatter:plain}}});}
)";

}  // namespace

void ReportPage::add_text(std::string paragraph) {
    body_ += "<p>" + escaped(paragraph) + "</p>\n";
}

void ReportPage::add_table(const ReportTable& table) {
    body_ += "<table>\n<tr>";
    for (const std::string& cell : table.head) body_ += "<th>" + escaped(cell) + "</th>";
    body_ += "</tr>\n";
    for (const auto& row : table.rows) {
        body_ += "<tr>";
        for (const std::string& cell : row) body_ += "<td>" + escaped(cell) + "</td>";
        body_ += "</tr>\n";
    }
    body_ += "</table>\n";
}

void ReportPage::add_plot(const ReportPlot& plot) {
    const std::string id = "plot" + std::to_string(++plots_);
    body_ += "<h2>" + escaped(plot.title) + "</h2>\n<div class=\"legend\" id=\"" + id +
             "-legend\"></div>\n<div class=\"plot\" id=\"" + id + "\"></div>\n";
    script_ += "draw(" + quoted(id) + ",[";
    for (const auto& series : plot.series) script_ += quoted(series.name) + ",";
    script_ += "],[";
    for (std::size_t i = 0; i < plot.x.size(); ++i) {
        script_ += "[" + number(plot.x[i]);
        for (const auto& series : plot.series) {
            script_ += "," + number(i < series.values.size() ? series.values[i] : std::nullopt);
        }
        script_ += "],";
    }
    script_ += std::string("],") + (plot.log_x ? "true" : "false") + "," +
               (plot.log_y ? "true" : "false") + "," + quoted(plot.x_name) + "," +
               quoted(plot.y_name) + ");\n";
}

std::string ReportPage::html() const {
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" +
        escaped(title_) + "</title>\n<style>";
    page += dygraphs_style();
    page += style;
    page += "</style>\n</head>\n<body>\n<h1>" + escaped(title_) + "</h1>\n" + body_;
    if (plots_ > 0) {
        page += "<script>";
        page += dygraphs_script();
        page += "</script>\n<script>";
        page += helpers;
        page += script_ + "</script>\n";
    }
    return page + "</body>\n</html>\n";
}

}  // namespace wireproof::lab
