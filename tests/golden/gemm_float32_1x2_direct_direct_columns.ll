; ModuleID = "gemm_float32_1x2_direct_direct_columns"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"gemm_float32_1x2_direct_direct_columns"(ptr %"descriptor", ptr %"frame")
{
entry:
  %v31 = alloca i8, i32 192, align 64
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 16
  %v2 = load i64, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 17
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"frame", i64 18
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr i64, ptr %"frame", i64 19
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i64, ptr %"frame", i64 2
  %v10 = load ptr, ptr %v9, align 8
  %v11 = getelementptr i64, ptr %"frame", i64 9
  %v12 = load i64, ptr %v11, align 8
  %v13 = getelementptr i64, ptr %"descriptor", i64 9
  %v14 = load ptr, ptr %v13, align 8
  %v15 = mul i64 %v12, 8
  %v16 = getelementptr i8, ptr %v14, i64 %v15
  %v17 = getelementptr i64, ptr %"frame", i64 26
  %v18 = load ptr, ptr %v17, align 8
  %v19 = getelementptr i64, ptr %v18, i64 8
  %v20 = load i64, ptr %v19, align 8
  %v21 = getelementptr i64, ptr %"frame", i64 24
  %v22 = load i64, ptr %v21, align 8
  %v23 = icmp ne i64 %v22, 0
  %v24 = icmp eq i64 %v20, 2
  %v25 = xor i1 %v24, -1
  %v26 = and i1 %v23, %v25
  %v27 = getelementptr i64, ptr %v18, i64 9
  %v28 = load i64, ptr %v27, align 8
  %v29 = icmp ne i64 %v28, 0
  %v30 = icmp ne i64 %v20, 0
  %v32 = getelementptr i64, ptr %"descriptor", i64 0
  %v33 = load i64, ptr %v32, align 8
  %v34 = getelementptr i64, ptr %"frame", i64 %v33
  %v35 = load ptr, ptr %v34, align 8
  %v36 = getelementptr i64, ptr %"descriptor", i64 1
  %v37 = load i64, ptr %v36, align 8
  %v38 = getelementptr i64, ptr %"frame", i64 %v37
  %v39 = load ptr, ptr %v38, align 8
  %v40 = getelementptr i64, ptr %"descriptor", i64 3
  %v41 = load i64, ptr %v40, align 8
  %v42 = getelementptr i64, ptr %"descriptor", i64 6
  %v43 = load i64, ptr %v42, align 8
  %v44 = getelementptr i64, ptr %"descriptor", i64 7
  %v45 = load i64, ptr %v44, align 8
  %v46 = mul i64 %v45, 2
  %v47 = mul i64 %v45, 3
  %v48 = mul i64 %v45, 5
  %v49 = udiv i64 %v4, 2
  %v50 = icmp slt i64 0, %v49
  br i1 %v50, label %"loop", label %"done"
loop:
  %v51 = phi i64 [0, %"body"], [%v292, %"done.1.endif"]
  %v52 = mul i64 %v51, %v46
  %v53 = getelementptr i8, ptr %v39, i64 %v52
  %v54 = mul i64 %v51, 2
  %v55 = udiv i64 %v2, 16
  %v56 = icmp slt i64 0, %v55
  br i1 %v56, label %"loop.1", label %"done.1"
done:
  %v294 = mul i64 %v49, 2
  %v295 = mul i64 %v49, %v46
  %v296 = getelementptr i8, ptr %v39, i64 %v295
  %v297 = icmp slt i64 %v294, %v4
  br i1 %v297, label %"loop.7", label %"done.7"
loop.1:
  %v57 = phi i64 [0, %"loop"], [%v176, %"done.3.endif"]
  %v58 = mul i64 %v57, 64
  %v59 = getelementptr i8, ptr %v35, i64 %v58
  %v60 = mul i64 %v57, 16
  %v61 = mul i64 %v60, 4
  %v62 = and i64 %v6, -4
  %v63 = icmp slt i64 0, %v62
  br i1 %v63, label %"loop.2", label %"done.2"
done.1:
  %v178 = mul i64 %v55, 16
  %v179 = icmp slt i64 %v178, %v2
  br i1 %v179, label %"done.1.if", label %"done.1.endif"
loop.2:
  %v64 = phi i64 [0, %"loop.1"], [%v119, %"loop.2"]
  %v65 = phi ptr [%v59, %"loop.1"], [%v117, %"loop.2"]
  %v66 = phi ptr [%v53, %"loop.1"], [%v118, %"loop.2"]
  %v67 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v111, %"loop.2"]
  %v68 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v116, %"loop.2"]
  %v69 = call ptr asm  "", "=r,0"(ptr %v65)
  %v70 = call ptr asm  "", "=r,0"(ptr %v66)
  %v71 = load <16 x float>, ptr %v69, align 1
  %v72 = load float, ptr %v70, align 1
  %v73 = insertelement <16 x float> poison, float %v72, i32 0
  %v74 = shufflevector <16 x float> %v73, <16 x float> poison, <16 x i32> zeroinitializer
  %v75 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v71, <16 x float> %v74, <16 x float> %v67)
  %v76 = getelementptr [1 x i8], ptr %v70, i64 %v45
  %v77 = load float, ptr %v76, align 1
  %v78 = insertelement <16 x float> poison, float %v77, i32 0
  %v79 = shufflevector <16 x float> %v78, <16 x float> poison, <16 x i32> zeroinitializer
  %v80 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v71, <16 x float> %v79, <16 x float> %v68)
  %v81 = getelementptr i8, ptr %v69, i64 %v41
  %v82 = getelementptr i8, ptr %v70, i64 %v43
  %v83 = load <16 x float>, ptr %v81, align 1
  %v84 = load float, ptr %v82, align 1
  %v85 = insertelement <16 x float> poison, float %v84, i32 0
  %v86 = shufflevector <16 x float> %v85, <16 x float> poison, <16 x i32> zeroinitializer
  %v87 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v83, <16 x float> %v86, <16 x float> %v75)
  %v88 = getelementptr [1 x i8], ptr %v82, i64 %v45
  %v89 = load float, ptr %v88, align 1
  %v90 = insertelement <16 x float> poison, float %v89, i32 0
  %v91 = shufflevector <16 x float> %v90, <16 x float> poison, <16 x i32> zeroinitializer
  %v92 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v83, <16 x float> %v91, <16 x float> %v80)
  %v93 = getelementptr i8, ptr %v81, i64 %v41
  %v94 = getelementptr i8, ptr %v82, i64 %v43
  %v95 = load <16 x float>, ptr %v93, align 1
  %v96 = load float, ptr %v94, align 1
  %v97 = insertelement <16 x float> poison, float %v96, i32 0
  %v98 = shufflevector <16 x float> %v97, <16 x float> poison, <16 x i32> zeroinitializer
  %v99 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v95, <16 x float> %v98, <16 x float> %v87)
  %v100 = getelementptr [1 x i8], ptr %v94, i64 %v45
  %v101 = load float, ptr %v100, align 1
  %v102 = insertelement <16 x float> poison, float %v101, i32 0
  %v103 = shufflevector <16 x float> %v102, <16 x float> poison, <16 x i32> zeroinitializer
  %v104 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v95, <16 x float> %v103, <16 x float> %v92)
  %v105 = getelementptr i8, ptr %v93, i64 %v41
  %v106 = getelementptr i8, ptr %v94, i64 %v43
  %v107 = load <16 x float>, ptr %v105, align 1
  %v108 = load float, ptr %v106, align 1
  %v109 = insertelement <16 x float> poison, float %v108, i32 0
  %v110 = shufflevector <16 x float> %v109, <16 x float> poison, <16 x i32> zeroinitializer
  %v111 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v107, <16 x float> %v110, <16 x float> %v99)
  %v112 = getelementptr [1 x i8], ptr %v106, i64 %v45
  %v113 = load float, ptr %v112, align 1
  %v114 = insertelement <16 x float> poison, float %v113, i32 0
  %v115 = shufflevector <16 x float> %v114, <16 x float> poison, <16 x i32> zeroinitializer
  %v116 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v107, <16 x float> %v115, <16 x float> %v104)
  %v117 = getelementptr i8, ptr %v105, i64 %v41
  %v118 = getelementptr i8, ptr %v106, i64 %v43
  %v119 = add i64 %v64, 4
  %v120 = icmp slt i64 %v119, %v62
  br i1 %v120, label %"loop.2", label %"done.2"
done.2:
  %v121 = phi ptr [%v59, %"loop.1"], [%v117, %"loop.2"]
  %v122 = phi ptr [%v53, %"loop.1"], [%v118, %"loop.2"]
  %v123 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v111, %"loop.2"]
  %v124 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v116, %"loop.2"]
  %v125 = icmp slt i64 %v62, %v6
  br i1 %v125, label %"loop.3", label %"done.3"
loop.3:
  %v126 = phi i64 [%v62, %"done.2"], [%v145, %"loop.3"]
  %v127 = phi ptr [%v121, %"done.2"], [%v143, %"loop.3"]
  %v128 = phi ptr [%v122, %"done.2"], [%v144, %"loop.3"]
  %v129 = phi <16 x float> [%v123, %"done.2"], [%v137, %"loop.3"]
  %v130 = phi <16 x float> [%v124, %"done.2"], [%v142, %"loop.3"]
  %v131 = call ptr asm  "", "=r,0"(ptr %v127)
  %v132 = call ptr asm  "", "=r,0"(ptr %v128)
  %v133 = load <16 x float>, ptr %v131, align 1
  %v134 = load float, ptr %v132, align 1
  %v135 = insertelement <16 x float> poison, float %v134, i32 0
  %v136 = shufflevector <16 x float> %v135, <16 x float> poison, <16 x i32> zeroinitializer
  %v137 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v133, <16 x float> %v136, <16 x float> %v129)
  %v138 = getelementptr [1 x i8], ptr %v132, i64 %v45
  %v139 = load float, ptr %v138, align 1
  %v140 = insertelement <16 x float> poison, float %v139, i32 0
  %v141 = shufflevector <16 x float> %v140, <16 x float> poison, <16 x i32> zeroinitializer
  %v142 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v133, <16 x float> %v141, <16 x float> %v130)
  %v143 = getelementptr i8, ptr %v131, i64 %v41
  %v144 = getelementptr i8, ptr %v132, i64 %v43
  %v145 = add i64 %v126, 1
  %v146 = icmp slt i64 %v145, %v6
  br i1 %v146, label %"loop.3", label %"done.3"
done.3:
  %v147 = phi ptr [%v121, %"done.2"], [%v143, %"loop.3"]
  %v148 = phi ptr [%v122, %"done.2"], [%v144, %"loop.3"]
  %v149 = phi <16 x float> [%v123, %"done.2"], [%v137, %"loop.3"]
  %v150 = phi <16 x float> [%v124, %"done.2"], [%v142, %"loop.3"]
  %v151 = and i1 %v26, %v30
  %v152 = or i1 %v29, %v151
  br i1 %v152, label %"done.3.if", label %"done.3.else"
done.3.if:
  store <16 x float> %v149, ptr %v31, align 1
  %v153 = getelementptr i8, ptr %v31, i64 64
  store <16 x float> %v150, ptr %v153, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v31, i64 %v60, i64 16, i64 %v54, i64 2)
  br label %"done.3.endif"
done.3.else:
  br i1 %v26, label %"done.3.else.if", label %"done.3.else.else"
done.3.endif:
  %v176 = add i64 %v57, 1
  %v177 = icmp slt i64 %v176, %v55
  br i1 %v177, label %"loop.1", label %"done.1"
done.3.else.if:
  %v154 = mul i64 %v54, 8
  %v155 = getelementptr i8, ptr %v16, i64 %v154
  %v156 = getelementptr i8, ptr %v10, i64 %v61
  %v157 = getelementptr i64, ptr %v155, i64 0
  %v158 = load i64, ptr %v157, align 8
  %v159 = getelementptr i8, ptr %v156, i64 %v158
  store <16 x float> %v149, ptr %v159, align 1
  %v160 = getelementptr i64, ptr %v155, i64 1
  %v161 = load i64, ptr %v160, align 8
  %v162 = getelementptr i8, ptr %v156, i64 %v161
  store <16 x float> %v150, ptr %v162, align 1
  br label %"done.3.else.endif"
done.3.else.else:
  %v163 = mul i64 %v54, 8
  %v164 = getelementptr i8, ptr %v16, i64 %v163
  %v165 = getelementptr i8, ptr %v10, i64 %v61
  %v166 = getelementptr i64, ptr %v164, i64 0
  %v167 = load i64, ptr %v166, align 8
  %v168 = getelementptr i8, ptr %v165, i64 %v167
  %v169 = load <16 x float>, ptr %v168, align 1
  %v170 = fadd <16 x float> %v169, %v149
  store <16 x float> %v170, ptr %v168, align 1
  %v171 = getelementptr i64, ptr %v164, i64 1
  %v172 = load i64, ptr %v171, align 8
  %v173 = getelementptr i8, ptr %v165, i64 %v172
  %v174 = load <16 x float>, ptr %v173, align 1
  %v175 = fadd <16 x float> %v174, %v150
  store <16 x float> %v175, ptr %v173, align 1
  br label %"done.3.else.endif"
done.3.else.endif:
  br label %"done.3.endif"
done.1.if:
  %v180 = sub i64 %v2, %v178
  %v181 = mul i64 %v55, 64
  %v182 = getelementptr i8, ptr %v35, i64 %v181
  %v183 = icmp slt i64 0, %v180
  br i1 %v183, label %"loop.4", label %"done.4"
done.1.endif:
  %v292 = add i64 %v51, 1
  %v293 = icmp slt i64 %v292, %v49
  br i1 %v293, label %"loop", label %"done"
loop.4:
  %v184 = phi i64 [0, %"done.1.if"], [%v290, %"done.6"]
  %v185 = sub i64 %v180, %v184
  %v186 = icmp slt i64 16, %v185
  %v187 = select i1 %v186, i64 16, i64 %v185
  %v188 = mul i64 %v184, 4
  %v189 = getelementptr i8, ptr %v182, i64 %v188
  %v190 = and i64 %v6, -4
  %v191 = icmp slt i64 0, %v190
  br i1 %v191, label %"loop.5", label %"done.5"
done.4:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v31, i64 %v178, i64 %v180, i64 %v54, i64 2)
  br label %"done.1.endif"
loop.5:
  %v192 = phi i64 [0, %"loop.4"], [%v251, %"loop.5"]
  %v193 = phi ptr [%v189, %"loop.4"], [%v249, %"loop.5"]
  %v194 = phi ptr [%v53, %"loop.4"], [%v250, %"loop.5"]
  %v195 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v243, %"loop.5"]
  %v196 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v248, %"loop.5"]
  %v197 = call ptr asm  "", "=r,0"(ptr %v193)
  %v198 = call ptr asm  "", "=r,0"(ptr %v194)
  %v199 = trunc i64 %v187 to i32
  %v200 = insertelement <16 x i32> poison, i32 %v199, i32 0
  %v201 = shufflevector <16 x i32> %v200, <16 x i32> poison, <16 x i32> zeroinitializer
  %v202 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v201
  %v203 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v197, i32 1, <16 x i1> %v202, <16 x float> zeroinitializer)
  %v204 = load float, ptr %v198, align 1
  %v205 = insertelement <16 x float> poison, float %v204, i32 0
  %v206 = shufflevector <16 x float> %v205, <16 x float> poison, <16 x i32> zeroinitializer
  %v207 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v203, <16 x float> %v206, <16 x float> %v195)
  %v208 = getelementptr [1 x i8], ptr %v198, i64 %v45
  %v209 = load float, ptr %v208, align 1
  %v210 = insertelement <16 x float> poison, float %v209, i32 0
  %v211 = shufflevector <16 x float> %v210, <16 x float> poison, <16 x i32> zeroinitializer
  %v212 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v203, <16 x float> %v211, <16 x float> %v196)
  %v213 = getelementptr i8, ptr %v197, i64 %v41
  %v214 = getelementptr i8, ptr %v198, i64 %v43
  %v215 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v213, i32 1, <16 x i1> %v202, <16 x float> zeroinitializer)
  %v216 = load float, ptr %v214, align 1
  %v217 = insertelement <16 x float> poison, float %v216, i32 0
  %v218 = shufflevector <16 x float> %v217, <16 x float> poison, <16 x i32> zeroinitializer
  %v219 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v215, <16 x float> %v218, <16 x float> %v207)
  %v220 = getelementptr [1 x i8], ptr %v214, i64 %v45
  %v221 = load float, ptr %v220, align 1
  %v222 = insertelement <16 x float> poison, float %v221, i32 0
  %v223 = shufflevector <16 x float> %v222, <16 x float> poison, <16 x i32> zeroinitializer
  %v224 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v215, <16 x float> %v223, <16 x float> %v212)
  %v225 = getelementptr i8, ptr %v213, i64 %v41
  %v226 = getelementptr i8, ptr %v214, i64 %v43
  %v227 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v225, i32 1, <16 x i1> %v202, <16 x float> zeroinitializer)
  %v228 = load float, ptr %v226, align 1
  %v229 = insertelement <16 x float> poison, float %v228, i32 0
  %v230 = shufflevector <16 x float> %v229, <16 x float> poison, <16 x i32> zeroinitializer
  %v231 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v227, <16 x float> %v230, <16 x float> %v219)
  %v232 = getelementptr [1 x i8], ptr %v226, i64 %v45
  %v233 = load float, ptr %v232, align 1
  %v234 = insertelement <16 x float> poison, float %v233, i32 0
  %v235 = shufflevector <16 x float> %v234, <16 x float> poison, <16 x i32> zeroinitializer
  %v236 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v227, <16 x float> %v235, <16 x float> %v224)
  %v237 = getelementptr i8, ptr %v225, i64 %v41
  %v238 = getelementptr i8, ptr %v226, i64 %v43
  %v239 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v237, i32 1, <16 x i1> %v202, <16 x float> zeroinitializer)
  %v240 = load float, ptr %v238, align 1
  %v241 = insertelement <16 x float> poison, float %v240, i32 0
  %v242 = shufflevector <16 x float> %v241, <16 x float> poison, <16 x i32> zeroinitializer
  %v243 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v239, <16 x float> %v242, <16 x float> %v231)
  %v244 = getelementptr [1 x i8], ptr %v238, i64 %v45
  %v245 = load float, ptr %v244, align 1
  %v246 = insertelement <16 x float> poison, float %v245, i32 0
  %v247 = shufflevector <16 x float> %v246, <16 x float> poison, <16 x i32> zeroinitializer
  %v248 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v239, <16 x float> %v247, <16 x float> %v236)
  %v249 = getelementptr i8, ptr %v237, i64 %v41
  %v250 = getelementptr i8, ptr %v238, i64 %v43
  %v251 = add i64 %v192, 4
  %v252 = icmp slt i64 %v251, %v190
  br i1 %v252, label %"loop.5", label %"done.5"
done.5:
  %v253 = phi ptr [%v189, %"loop.4"], [%v249, %"loop.5"]
  %v254 = phi ptr [%v53, %"loop.4"], [%v250, %"loop.5"]
  %v255 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v243, %"loop.5"]
  %v256 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v248, %"loop.5"]
  %v257 = icmp slt i64 %v190, %v6
  br i1 %v257, label %"loop.6", label %"done.6"
loop.6:
  %v258 = phi i64 [%v190, %"done.5"], [%v281, %"loop.6"]
  %v259 = phi ptr [%v253, %"done.5"], [%v279, %"loop.6"]
  %v260 = phi ptr [%v254, %"done.5"], [%v280, %"loop.6"]
  %v261 = phi <16 x float> [%v255, %"done.5"], [%v273, %"loop.6"]
  %v262 = phi <16 x float> [%v256, %"done.5"], [%v278, %"loop.6"]
  %v263 = call ptr asm  "", "=r,0"(ptr %v259)
  %v264 = call ptr asm  "", "=r,0"(ptr %v260)
  %v265 = trunc i64 %v187 to i32
  %v266 = insertelement <16 x i32> poison, i32 %v265, i32 0
  %v267 = shufflevector <16 x i32> %v266, <16 x i32> poison, <16 x i32> zeroinitializer
  %v268 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v267
  %v269 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v263, i32 1, <16 x i1> %v268, <16 x float> zeroinitializer)
  %v270 = load float, ptr %v264, align 1
  %v271 = insertelement <16 x float> poison, float %v270, i32 0
  %v272 = shufflevector <16 x float> %v271, <16 x float> poison, <16 x i32> zeroinitializer
  %v273 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v269, <16 x float> %v272, <16 x float> %v261)
  %v274 = getelementptr [1 x i8], ptr %v264, i64 %v45
  %v275 = load float, ptr %v274, align 1
  %v276 = insertelement <16 x float> poison, float %v275, i32 0
  %v277 = shufflevector <16 x float> %v276, <16 x float> poison, <16 x i32> zeroinitializer
  %v278 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v269, <16 x float> %v277, <16 x float> %v262)
  %v279 = getelementptr i8, ptr %v263, i64 %v41
  %v280 = getelementptr i8, ptr %v264, i64 %v43
  %v281 = add i64 %v258, 1
  %v282 = icmp slt i64 %v281, %v6
  br i1 %v282, label %"loop.6", label %"done.6"
done.6:
  %v283 = phi ptr [%v253, %"done.5"], [%v279, %"loop.6"]
  %v284 = phi ptr [%v254, %"done.5"], [%v280, %"loop.6"]
  %v285 = phi <16 x float> [%v255, %"done.5"], [%v273, %"loop.6"]
  %v286 = phi <16 x float> [%v256, %"done.5"], [%v278, %"loop.6"]
  %v287 = mul i64 %v184, 4
  %v288 = getelementptr i8, ptr %v31, i64 %v287
  store <16 x float> %v285, ptr %v288, align 1
  %v289 = getelementptr i8, ptr %v288, i64 64
  store <16 x float> %v286, ptr %v289, align 1
  %v290 = add i64 %v184, 16
  %v291 = icmp slt i64 %v290, %v180
  br i1 %v291, label %"loop.4", label %"done.4"
loop.7:
  %v298 = phi i64 [%v294, %"done"], [%v369, %"done.8.endif"]
  %v299 = sub i64 %v4, %v298
  %v300 = icmp slt i64 1, %v299
  %v301 = select i1 %v300, i64 1, i64 %v299
  %v302 = sub i64 %v298, %v294
  %v303 = mul i64 %v302, %v45
  %v304 = getelementptr i8, ptr %v296, i64 %v303
  %v305 = sub i64 %v301, 1
  %v306 = icmp slt i64 0, %v305
  %v307 = select i1 %v306, i64 0, i64 %v305
  %v308 = mul i64 %v307, %v45
  %v309 = udiv i64 %v2, 16
  %v310 = icmp slt i64 0, %v309
  br i1 %v310, label %"loop.8", label %"done.8"
done.7:
  ret void
loop.8:
  %v311 = phi i64 [0, %"loop.7"], [%v331, %"done.9"]
  %v312 = mul i64 %v311, 64
  %v313 = getelementptr i8, ptr %v35, i64 %v312
  br label %"repeat"
done.8:
  %v333 = mul i64 %v309, 16
  %v334 = icmp slt i64 %v333, %v2
  br i1 %v334, label %"done.8.if", label %"done.8.endif"
repeat:
  %v314 = phi i64 [0, %"loop.8"], [%v328, %"repeat"]
  %v315 = phi ptr [%v313, %"loop.8"], [%v326, %"repeat"]
  %v316 = phi ptr [%v304, %"loop.8"], [%v327, %"repeat"]
  %v317 = phi <16 x float> [splat (float              0x0), %"loop.8"], [%v325, %"repeat"]
  %v318 = call ptr asm  "", "=r,0"(ptr %v315)
  %v319 = call ptr asm  "", "=r,0"(ptr %v316)
  %v320 = load <16 x float>, ptr %v318, align 1
  %v321 = getelementptr i8, ptr %v319, i64 %v308
  %v322 = load float, ptr %v321, align 1
  %v323 = insertelement <16 x float> poison, float %v322, i32 0
  %v324 = shufflevector <16 x float> %v323, <16 x float> poison, <16 x i32> zeroinitializer
  %v325 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v320, <16 x float> %v324, <16 x float> %v317)
  %v326 = getelementptr i8, ptr %v318, i64 %v41
  %v327 = getelementptr i8, ptr %v319, i64 %v43
  %v328 = add i64 %v314, 1
  %v329 = icmp slt i64 %v328, %v6
  br i1 %v329, label %"repeat", label %"done.9"
done.9:
  store <16 x float> %v325, ptr %v31, align 1
  %v330 = mul i64 %v311, 16
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v31, i64 %v330, i64 16, i64 %v298, i64 %v301)
  %v331 = add i64 %v311, 1
  %v332 = icmp slt i64 %v331, %v309
  br i1 %v332, label %"loop.8", label %"done.8"
done.8.if:
  %v335 = sub i64 %v2, %v333
  %v336 = mul i64 %v309, 64
  %v337 = getelementptr i8, ptr %v35, i64 %v336
  %v338 = icmp slt i64 0, %v335
  br i1 %v338, label %"loop.9", label %"done.10"
done.8.endif:
  %v369 = add i64 %v298, 1
  %v370 = icmp slt i64 %v369, %v4
  br i1 %v370, label %"loop.7", label %"done.7"
loop.9:
  %v339 = phi i64 [0, %"done.8.if"], [%v367, %"done.11"]
  %v340 = sub i64 %v335, %v339
  %v341 = icmp slt i64 16, %v340
  %v342 = select i1 %v341, i64 16, i64 %v340
  %v343 = mul i64 %v339, 4
  %v344 = getelementptr i8, ptr %v337, i64 %v343
  br label %"repeat.1"
done.10:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v31, i64 %v333, i64 %v335, i64 %v298, i64 %v301)
  br label %"done.8.endif"
repeat.1:
  %v345 = phi i64 [0, %"loop.9"], [%v363, %"repeat.1"]
  %v346 = phi ptr [%v344, %"loop.9"], [%v361, %"repeat.1"]
  %v347 = phi ptr [%v304, %"loop.9"], [%v362, %"repeat.1"]
  %v348 = phi <16 x float> [splat (float              0x0), %"loop.9"], [%v360, %"repeat.1"]
  %v349 = call ptr asm  "", "=r,0"(ptr %v346)
  %v350 = call ptr asm  "", "=r,0"(ptr %v347)
  %v351 = trunc i64 %v342 to i32
  %v352 = insertelement <16 x i32> poison, i32 %v351, i32 0
  %v353 = shufflevector <16 x i32> %v352, <16 x i32> poison, <16 x i32> zeroinitializer
  %v354 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v353
  %v355 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v349, i32 1, <16 x i1> %v354, <16 x float> zeroinitializer)
  %v356 = getelementptr i8, ptr %v350, i64 %v308
  %v357 = load float, ptr %v356, align 1
  %v358 = insertelement <16 x float> poison, float %v357, i32 0
  %v359 = shufflevector <16 x float> %v358, <16 x float> poison, <16 x i32> zeroinitializer
  %v360 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v355, <16 x float> %v359, <16 x float> %v348)
  %v361 = getelementptr i8, ptr %v349, i64 %v41
  %v362 = getelementptr i8, ptr %v350, i64 %v43
  %v363 = add i64 %v345, 1
  %v364 = icmp slt i64 %v363, %v6
  br i1 %v364, label %"repeat.1", label %"done.11"
done.11:
  %v365 = mul i64 %v339, 4
  %v366 = getelementptr i8, ptr %v31, i64 %v365
  store <16 x float> %v360, ptr %v366, align 1
  %v367 = add i64 %v339, 16
  %v368 = icmp slt i64 %v367, %v335
  br i1 %v368, label %"loop.9", label %"done.10"
}

define internal void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 2
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 9
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"descriptor", i64 9
  %v6 = load ptr, ptr %v5, align 8
  %v7 = mul i64 %v4, 8
  %v8 = getelementptr i8, ptr %v6, i64 %v7
  %v9 = getelementptr i64, ptr %"frame", i64 26
  %v10 = load ptr, ptr %v9, align 8
  %v11 = getelementptr i64, ptr %v10, i64 8
  %v12 = load i64, ptr %v11, align 8
  %v13 = getelementptr i64, ptr %"frame", i64 24
  %v14 = load i64, ptr %v13, align 8
  %v15 = icmp ne i64 %v14, 0
  %v16 = icmp eq i64 %v12, 2
  %v17 = xor i1 %v16, -1
  %v18 = and i1 %v15, %v17
  %v19 = getelementptr i64, ptr %v10, i64 9
  %v20 = load i64, ptr %v19, align 8
  %v21 = icmp ne i64 %v20, 0
  %v22 = icmp ne i64 %v12, 0
  %v23 = mul i64 %".6", 8
  %v24 = getelementptr i8, ptr %v8, i64 %v23
  %v25 = and i1 %v18, %v22
  %v26 = or i1 %v21, %v25
  %v27 = xor i1 %v18, -1
  %v28 = or i1 %v27, %v22
  %v29 = mul i64 %".4", 4
  %v30 = and i64 %".5", -16
  %v31 = icmp slt i64 0, %v30
  br i1 %v31, label %"loop", label %"done"
loop:
  %v32 = phi i64 [0, %"body"], [%v84, %"loop.endif"]
  %v33 = mul i64 %v32, 4
  %v34 = getelementptr i8, ptr %".3", i64 %v33
  %v35 = mul i64 %v32, 4
  %v36 = add i64 %v29, %v35
  %v37 = getelementptr i8, ptr %v2, i64 %v36
  br i1 %v26, label %"loop.if", label %"loop.else"
done:
  %v86 = sub i64 %".5", %v30
  %v87 = icmp slt i64 0, %v86
  br i1 %v87, label %"done.if", label %"done.endif"
loop.if:
  %v38 = icmp slt i64 0, %".7"
  br i1 %v38, label %"loop.1", label %"done.1"
loop.else:
  br i1 %v18, label %"loop.else.if", label %"loop.else.else"
loop.endif:
  %v84 = add i64 %v32, 16
  %v85 = icmp slt i64 %v84, %v30
  br i1 %v85, label %"loop", label %"done"
loop.1:
  %v39 = phi i64 [0, %"loop.if"], [%v60, %"loop.1.endif.endif"]
  %v40 = mul i64 %v39, 64
  %v41 = getelementptr i8, ptr %v34, i64 %v40
  %v42 = load <16 x float>, ptr %v41, align 1
  %v43 = getelementptr i64, ptr %v24, i64 %v39
  %v44 = load i64, ptr %v43, align 8
  %v45 = getelementptr i8, ptr %v37, i64 %v44
  %v46 = load float, ptr %v10, align 1
  %v47 = insertelement <16 x float> poison, float %v46, i32 0
  %v48 = shufflevector <16 x float> %v47, <16 x float> poison, <16 x i32> zeroinitializer
  %v49 = getelementptr i8, ptr %v10, i64 32
  %v50 = load float, ptr %v49, align 1
  %v51 = insertelement <16 x float> poison, float %v50, i32 0
  %v52 = shufflevector <16 x float> %v51, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v21, label %"loop.1.if", label %"loop.1.else"
done.1:
  br label %"loop.endif"
loop.1.if:
  %v53 = fmul <16 x float> %v48, %v42
  br label %"loop.1.endif"
loop.1.else:
  br label %"loop.1.endif"
loop.1.endif:
  %v54 = phi <16 x float> [%v53, %"loop.1.if"], [%v42, %"loop.1.else"]
  br i1 %v28, label %"loop.1.endif.if", label %"loop.1.endif.else"
loop.1.endif.if:
  %v55 = load <16 x float>, ptr %v45, align 1
  br i1 %v18, label %"loop.1.endif.if.if", label %"loop.1.endif.if.else"
loop.1.endif.else:
  br label %"loop.1.endif.endif"
loop.1.endif.endif:
  %v59 = phi <16 x float> [%v58, %"loop.1.endif.if.endif"], [%v54, %"loop.1.endif.else"]
  store <16 x float> %v59, ptr %v45, align 1
  %v60 = add i64 %v39, 1
  %v61 = icmp slt i64 %v60, %".7"
  br i1 %v61, label %"loop.1", label %"done.1"
loop.1.endif.if.if:
  %v56 = fmul <16 x float> %v52, %v55
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.else:
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.endif:
  %v57 = phi <16 x float> [%v56, %"loop.1.endif.if.if"], [%v55, %"loop.1.endif.if.else"]
  %v58 = fadd <16 x float> %v57, %v54
  br label %"loop.1.endif.endif"
loop.else.if:
  %v62 = icmp slt i64 0, %".7"
  br i1 %v62, label %"loop.2", label %"done.2"
loop.else.else:
  %v72 = icmp slt i64 0, %".7"
  br i1 %v72, label %"loop.3", label %"done.3"
loop.else.endif:
  br label %"loop.endif"
loop.2:
  %v63 = phi i64 [0, %"loop.else.if"], [%v70, %"loop.2"]
  %v64 = mul i64 %v63, 64
  %v65 = getelementptr i8, ptr %v34, i64 %v64
  %v66 = load <16 x float>, ptr %v65, align 1
  %v67 = getelementptr i64, ptr %v24, i64 %v63
  %v68 = load i64, ptr %v67, align 8
  %v69 = getelementptr i8, ptr %v37, i64 %v68
  store <16 x float> %v66, ptr %v69, align 1
  %v70 = add i64 %v63, 1
  %v71 = icmp slt i64 %v70, %".7"
  br i1 %v71, label %"loop.2", label %"done.2"
done.2:
  br label %"loop.else.endif"
loop.3:
  %v73 = phi i64 [0, %"loop.else.else"], [%v82, %"loop.3"]
  %v74 = mul i64 %v73, 64
  %v75 = getelementptr i8, ptr %v34, i64 %v74
  %v76 = load <16 x float>, ptr %v75, align 1
  %v77 = getelementptr i64, ptr %v24, i64 %v73
  %v78 = load i64, ptr %v77, align 8
  %v79 = getelementptr i8, ptr %v37, i64 %v78
  %v80 = load <16 x float>, ptr %v79, align 1
  %v81 = fadd <16 x float> %v80, %v76
  store <16 x float> %v81, ptr %v79, align 1
  %v82 = add i64 %v73, 1
  %v83 = icmp slt i64 %v82, %".7"
  br i1 %v83, label %"loop.3", label %"done.3"
done.3:
  br label %"loop.else.endif"
done.if:
  %v88 = mul i64 %v30, 4
  %v89 = getelementptr i8, ptr %".3", i64 %v88
  %v90 = mul i64 %v30, 4
  %v91 = add i64 %v29, %v90
  %v92 = getelementptr i8, ptr %v2, i64 %v91
  br i1 %v26, label %"done.if.if", label %"done.if.else"
done.endif:
  ret void
done.if.if:
  %v93 = icmp slt i64 0, %".7"
  br i1 %v93, label %"loop.4", label %"done.4"
done.if.else:
  br i1 %v18, label %"done.if.else.if", label %"done.if.else.else"
done.if.endif:
  br label %"done.endif"
loop.4:
  %v94 = phi i64 [0, %"done.if.if"], [%v123, %"loop.4.endif.endif"]
  %v95 = mul i64 %v94, 64
  %v96 = getelementptr i8, ptr %v89, i64 %v95
  %v97 = load <16 x float>, ptr %v96, align 1
  %v98 = getelementptr i64, ptr %v24, i64 %v94
  %v99 = load i64, ptr %v98, align 8
  %v100 = getelementptr i8, ptr %v92, i64 %v99
  %v101 = load float, ptr %v10, align 1
  %v102 = insertelement <16 x float> poison, float %v101, i32 0
  %v103 = shufflevector <16 x float> %v102, <16 x float> poison, <16 x i32> zeroinitializer
  %v104 = getelementptr i8, ptr %v10, i64 32
  %v105 = load float, ptr %v104, align 1
  %v106 = insertelement <16 x float> poison, float %v105, i32 0
  %v107 = shufflevector <16 x float> %v106, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v21, label %"loop.4.if", label %"loop.4.else"
done.4:
  br label %"done.if.endif"
loop.4.if:
  %v108 = fmul <16 x float> %v103, %v97
  br label %"loop.4.endif"
loop.4.else:
  br label %"loop.4.endif"
loop.4.endif:
  %v109 = phi <16 x float> [%v108, %"loop.4.if"], [%v97, %"loop.4.else"]
  br i1 %v28, label %"loop.4.endif.if", label %"loop.4.endif.else"
loop.4.endif.if:
  %v110 = trunc i64 %v86 to i32
  %v111 = insertelement <16 x i32> poison, i32 %v110, i32 0
  %v112 = shufflevector <16 x i32> %v111, <16 x i32> poison, <16 x i32> zeroinitializer
  %v113 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v112
  %v114 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v100, i32 1, <16 x i1> %v113, <16 x float> zeroinitializer)
  br i1 %v18, label %"loop.4.endif.if.if", label %"loop.4.endif.if.else"
loop.4.endif.else:
  br label %"loop.4.endif.endif"
loop.4.endif.endif:
  %v118 = phi <16 x float> [%v117, %"loop.4.endif.if.endif"], [%v109, %"loop.4.endif.else"]
  %v119 = trunc i64 %v86 to i32
  %v120 = insertelement <16 x i32> poison, i32 %v119, i32 0
  %v121 = shufflevector <16 x i32> %v120, <16 x i32> poison, <16 x i32> zeroinitializer
  %v122 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v121
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v118, ptr %v100, i32 1, <16 x i1> %v122)
  %v123 = add i64 %v94, 1
  %v124 = icmp slt i64 %v123, %".7"
  br i1 %v124, label %"loop.4", label %"done.4"
loop.4.endif.if.if:
  %v115 = fmul <16 x float> %v107, %v114
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.else:
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.endif:
  %v116 = phi <16 x float> [%v115, %"loop.4.endif.if.if"], [%v114, %"loop.4.endif.if.else"]
  %v117 = fadd <16 x float> %v116, %v109
  br label %"loop.4.endif.endif"
done.if.else.if:
  %v125 = icmp slt i64 0, %".7"
  br i1 %v125, label %"loop.5", label %"done.5"
done.if.else.else:
  %v139 = icmp slt i64 0, %".7"
  br i1 %v139, label %"loop.6", label %"done.6"
done.if.else.endif:
  br label %"done.if.endif"
loop.5:
  %v126 = phi i64 [0, %"done.if.else.if"], [%v137, %"loop.5"]
  %v127 = mul i64 %v126, 64
  %v128 = getelementptr i8, ptr %v89, i64 %v127
  %v129 = load <16 x float>, ptr %v128, align 1
  %v130 = getelementptr i64, ptr %v24, i64 %v126
  %v131 = load i64, ptr %v130, align 8
  %v132 = getelementptr i8, ptr %v92, i64 %v131
  %v133 = trunc i64 %v86 to i32
  %v134 = insertelement <16 x i32> poison, i32 %v133, i32 0
  %v135 = shufflevector <16 x i32> %v134, <16 x i32> poison, <16 x i32> zeroinitializer
  %v136 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v135
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v129, ptr %v132, i32 1, <16 x i1> %v136)
  %v137 = add i64 %v126, 1
  %v138 = icmp slt i64 %v137, %".7"
  br i1 %v138, label %"loop.5", label %"done.5"
done.5:
  br label %"done.if.else.endif"
loop.6:
  %v140 = phi i64 [0, %"done.if.else.else"], [%v153, %"loop.6"]
  %v141 = mul i64 %v140, 64
  %v142 = getelementptr i8, ptr %v89, i64 %v141
  %v143 = load <16 x float>, ptr %v142, align 1
  %v144 = getelementptr i64, ptr %v24, i64 %v140
  %v145 = load i64, ptr %v144, align 8
  %v146 = getelementptr i8, ptr %v92, i64 %v145
  %v147 = trunc i64 %v86 to i32
  %v148 = insertelement <16 x i32> poison, i32 %v147, i32 0
  %v149 = shufflevector <16 x i32> %v148, <16 x i32> poison, <16 x i32> zeroinitializer
  %v150 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v149
  %v151 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v146, i32 1, <16 x i1> %v150, <16 x float> zeroinitializer)
  %v152 = fadd <16 x float> %v151, %v143
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v152, ptr %v146, i32 1, <16 x i1> %v150)
  %v153 = add i64 %v140, 1
  %v154 = icmp slt i64 %v153, %".7"
  br i1 %v154, label %"loop.6", label %"done.6"
done.6:
  br label %"done.if.else.endif"
}

declare <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %".1", i32 %".2", <16 x i1> %".3", <16 x float> %".4")

declare void @"llvm.masked.store.v16f32.p0"(<16 x float> %".1", ptr %".2", i32 %".3", <16 x i1> %".4")

declare <16 x float> @"llvm.fma.v16f32"(<16 x float> %".1", <16 x float> %".2", <16 x float> %".3")
